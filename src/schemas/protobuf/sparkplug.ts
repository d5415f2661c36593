// The payload of Sparkplug B, versions 2.2 and 3.0. Extensions are skipped, as all unknown fields are.

import { compileProto } from './compile-proto.ts'
import type { ProtoMessages } from './proto-types.ts'

/** Fields of a value of a single type, from a number on. */
const formatSingleValues = (first: number): string =>
  [
    'uint32 int_value',
    'uint64 long_value',
    'float float_value',
    'double double_value',
    'bool boolean_value',
    'string string_value',
  ]
    .map((field, index) => `${field} = ${first + index};`)
    .join(' ')

const source = `
syntax = "proto2";
package org.eclipse.tahu.protobuf;
message Payload {
  optional uint64 timestamp = 1;
  repeated Metric metrics = 2;
  optional uint64 seq = 3;
  optional string uuid = 4;
  optional bytes body = 5;
  message Metric {
    optional string name = 1;
    optional uint64 alias = 2;
    optional uint64 timestamp = 3;
    optional uint32 datatype = 4;
    optional bool is_historical = 5;
    optional bool is_transient = 6;
    optional bool is_null = 7;
    optional MetaData metadata = 8;
    optional PropertySet properties = 9;
    oneof value {
      ${formatSingleValues(10)}
      bytes bytes_value = 16;
      DataSet dataset_value = 17;
      Template template_value = 18;
      MetricValueExtension extension_value = 19;
    }
    message MetricValueExtension {}
  }
  message MetaData {
    optional bool is_multi_part = 1;
    optional string content_type = 2;
    optional uint64 size = 3;
    optional uint64 seq = 4;
    optional string file_name = 5;
    optional string file_type = 6;
    optional string md5 = 7;
    optional string description = 8;
  }
  message PropertySet {
    repeated string keys = 1;
    repeated PropertyValue values = 2;
  }
  message PropertySetList { repeated PropertySet propertyset = 1; }
  message PropertyValue {
    optional uint32 type = 1;
    optional bool is_null = 2;
    oneof value {
      ${formatSingleValues(3)}
      PropertySet propertyset_value = 9;
      PropertySetList propertysets_value = 10;
      PropertyValueExtension extension_value = 11;
    }
    message PropertyValueExtension {}
  }
  message DataSet {
    optional uint64 num_of_columns = 1;
    repeated string columns = 2;
    repeated uint32 types = 3;
    repeated Row rows = 4;
    message Row { repeated DataSetValue elements = 1; }
    message DataSetValue {
      oneof value {
        ${formatSingleValues(1)}
        DataSetValueExtension extension_value = 7;
      }
      message DataSetValueExtension {}
    }
  }
  message Template {
    optional string version = 1;
    repeated Metric metrics = 2;
    repeated Parameter parameters = 3;
    optional string template_ref = 4;
    optional bool is_definition = 5;
    message Parameter {
      optional string name = 1;
      optional uint32 type = 2;
      oneof value {
        ${formatSingleValues(3)}
        ParameterValueExtension extension_value = 9;
      }
      message ParameterValueExtension {}
    }
  }
}
`

let compiled: ProtoMessages | undefined

/** The message types of Sparkplug B, compiled at the first call. */
export function loadSparkplugMessages(): ProtoMessages {
  compiled ??= compileProto(source)
  return compiled
}
