"""The JSON-RPC methods of a device: one module for each family, a catalogue, plug-ins and ICMP.

    system.*  net.*  config.*  exec  + what plug-ins add by the entry point `rookery.agent_methods`

Signatures and docstrings are what `rpc.discover` tells, so they are written for users.
"""
