"""Released models as programs for other engines: they give the same answers there, without PRIVET."""

from privet.exports.onnx import export_onnx
from privet.exports.sql import export_sql

__all__ = ["export_onnx", "export_sql"]
