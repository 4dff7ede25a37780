"""Writes events.golden: what TensorBoard's own protocol buffers and record writer make of the events in events_test.go.

Made with tensorboard 2.21.0: python gen_events.py
"""
import os

from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2, types_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

clock = 1000.0


def event(**fields):
    global clock
    clock += 0.25
    return event_pb2.Event(wall_time=clock, **fields)


def summary(**value):
    return summary_pb2.Summary(value=[summary_pb2.Summary.Value(**value)])


histogram = summary_pb2.HistogramProto(
    min=-0.5, max=0.75, num=4, sum=0.5, sum_squares=0.875,
    bucket_limit=[-0.5, 0.0, 0.5, 1.0], bucket=[0.0, 1.0, 2.0, 1.0])
shape = tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)])
tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, tensor_shape=shape, string_val=["ein kleiner Käfer".encode()])
text = summary_pb2.SummaryMetadata(plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name="text"))

events = [
    event(file_version="brain.Event:2"),
    event(step=8, session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START)),
    event(step=300, summary=summary(tag="loss/train", simple_value=2.125)),
    event(step=1 << 40, summary=summary(tag="zero", simple_value=0.0)),
    event(step=9, summary=summary(tag="cosine/output", histo=histogram)),
    event(step=10, summary=summary(tag="sample", tensor=tensor, metadata=text)),
]
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "events.golden"), "wb") as file:
    writer = RecordWriter(file)
    for e in events:
        writer.write(e.SerializeToString(deterministic=True))
    writer.flush()
