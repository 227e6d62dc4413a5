"""Ways to start probe agents: one module each, with one constant `LAUNCHER` whose id is the module's name."""
