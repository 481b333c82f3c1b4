"""What a device lets its owner do from afar: one module for each family of JSON-RPC methods.

    system.*  net.*  config.*  exec  + what plug-ins add by the entry point `rookery.agent_methods`

Signatures and docstrings are what `rpc.discover` tells, so they are written for users.
"""
