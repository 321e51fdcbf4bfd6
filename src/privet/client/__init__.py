"""Ask tables that somebody else holds: `connect` to a service, and fit as on a frame."""

from privet.client.house import RemoteHouse, connect
from privet.client.table import RemoteAnswer, RemoteJob, RemoteTable
from privet.client.wire import RemoteError

__all__ = ["RemoteAnswer", "RemoteError", "RemoteHouse", "RemoteJob", "RemoteTable", "connect"]
