"""The hub over HTTP: accounts, devices, connecting, the JSON API and its pages."""
