"""Forms of a probe's own gang: one module for each gang system, with one constant `FORM` whose id is its name."""
