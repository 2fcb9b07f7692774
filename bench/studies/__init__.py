"""Programs that measured the published figures; docs/studies.md lists them."""
