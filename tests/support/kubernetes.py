"""The variables through which Kubernetes tells pods about services."""

from __future__ import annotations


def service_links(name: str, host: str, *ports: tuple[str, int, str]) -> dict[str, str]:
    """Returns the variables that the kubelet gives pods for a service, like its `makeLinkVariables`.

    Args:
        name: the name of the service.
        host: its address.
        ports: the name, number and protocol of each port.
    """
    variable = name.upper().replace("-", "_")
    authority = f"[{host}]" if ":" in host else host
    _, first, protocol = ports[0]
    links = {f"{variable}_SERVICE_HOST": host, f"{variable}_SERVICE_PORT": str(first)}
    links[f"{variable}_PORT"] = f"{protocol}://{authority}:{first}"
    for port_name, number, protocol in ports:
        if port_name:
            links[f"{variable}_SERVICE_PORT_{port_name.upper().replace('-', '_')}"] = str(number)
        prefix = f"{variable}_PORT_{number}_{protocol.upper()}"
        links[prefix] = f"{protocol}://{authority}:{number}"
        links |= {f"{prefix}_PROTO": protocol, f"{prefix}_PORT": str(number), f"{prefix}_ADDR": host}
    return links
