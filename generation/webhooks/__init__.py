"""Webhooks: messages about events of a workspace, stored with what happened, signed, and sent by a worker."""
