"""The web server of the exporter: connections, who may come in, and what each address answers."""
