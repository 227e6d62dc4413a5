"""Playbooks that run: one Markdown file each, whose commands are executed and whose causes are weighed."""
