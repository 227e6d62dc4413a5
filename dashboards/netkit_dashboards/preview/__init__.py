"""Dashboards as static pages, drawn from their JSON against a Prometheus: for people without Grafana."""
