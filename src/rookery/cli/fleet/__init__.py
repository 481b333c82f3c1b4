"""Hub, servers, agents, and the verbs of those who operate a fleet or use its devices."""
