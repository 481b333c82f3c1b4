"""Settings that every test shares."""

import os

from hypothesis import settings

# No deadline: two workers under coverage share the machine, and time is not what is tested.
settings.register_profile("local", deadline=None)
# In CI the same examples every time, so that a red run is the change's doing.
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
