"""Settings of the whole suite."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Machines are shared: how long an example takes says nothing about the code. What must be fast is measured by itself.
settings.register_profile("netkit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("netkit")
