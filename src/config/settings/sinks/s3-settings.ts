// connectors.s3, actions.s3: objects for S3 and services like it.

import { listOf, textMap } from '../../schema/collections.ts'
import { duration } from '../../schema/quantities.ts'
import { openSection, section, setting } from '../../schema/setting.ts'
import { choice, integer, optional, text } from '../../schema/setting-type.ts'
import { outgoingTls } from '../../schema/outgoing-tls.ts'
import {
  actionSettings,
  anyText,
  connectorSettings,
  connectTimeout,
  maybeText,
  listNamedSinks,
  ofEmqx,
  poolSize,
  resourceOptions,
  template,
} from './sink-parts.ts'

const dayMs = 86_400_000
const maxRecords = 60_000
const column = text({ form: { pattern: /^[^${},"\s]+$/, name: 'a path such as payload.value' } })

const s3Connector = section('A connection to S3, or to a service with the S3 API.', {
  ...connectorSettings,
  host: setting(maybeText, undefined, {
    description: 'Host name of the S3 service, such as s3.eu-central-1.amazonaws.com.',
    isRequired: true,
  }),
  port: setting(integer({ min: 1, max: 65_535 }), 443, {
    description: 'Port of the S3 service. If it is 443, set ssl.enable as well.',
  }),
  region: setting(text(), 'us-east-1', { description: 'Region that is part of the request signature.' }),
  access_key_id: setting(maybeText, undefined, { description: 'ID of the access key.', isRequired: true }),
  secret_access_key: setting(maybeText, undefined, {
    description: 'The secret access key.',
    isSecret: true,
    isRequired: true,
  }),
  connect_timeout: connectTimeout,
  pool_size: poolSize,
  access_method: ofEmqx,
  url_expire_time: ofEmqx,
  transport_options: openSection('Settings of EMQX, which are accepted so that its files can be used unchanged.'),
  ssl: outgoingTls,
})

const s3Action = section('An action that uploads objects.', {
  ...actionSettings,
  parameters: section('Bucket, key and content of the objects.', {
    mode: setting(choice(['direct', 'aggregated']), 'direct', {
      description:
        'direct: each result becomes an object. aggregated: many results become one object, with one result on each line.',
    }),
    bucket: setting(anyText, '', {
      description: 'Name of the bucket. With mode direct it is a template.',
      isRequired: true,
    }),
    key: setting(anyText, '', {
      description:
        'Key of the object, a template. With mode aggregated it has ${sequence}, and may have ${action}, ${node}, ${datetime.rfc3339utc}, ${datetime.unix} and ${container.type}.',
      isRequired: true,
    }),
    content: setting(optional(template, 'none'), undefined, {
      description: 'Template of the content of an object, for mode direct.',
      defaultWords: 'all columns as JSON',
    }),
    acl: setting(
      optional(
        choice([
          'private',
          'public_read',
          'public_read_write',
          'authenticated_read',
          'bucket_owner_read',
          'bucket_owner_full_control',
        ]),
        'none',
      ),
      undefined,
      {
        description:
          'Canned ACL of the objects, which says who else may read or replace them. It is sent as x-amz-acl.',
        defaultWords: 'the ACL of the bucket applies',
      },
    ),
    headers: setting(textMap, new Map(), {
      description:
        'Additional HTTP headers of each request, such as content-type, cache-control and x-amz-storage-class.',
    }),
    min_part_size: ofEmqx,
    max_part_size: ofEmqx,
    container: section('Mode aggregated: the format of an object.', {
      type: setting(choice(['json_lines', 'csv']), 'json_lines', {
        description:
          'Format of an aggregated object. json_lines: each line has all columns of a result as JSON. csv: a header line and one row for each result.',
      }),
      column_order: setting(listOf(column, 1_000), [], {
        description: 'Columns of a CSV object in their order, such as [timestamp, payload.value].',
      }),
    }),
    aggregation: section('Mode aggregated: when an object is complete and uploaded.', {
      time_interval: setting(duration({ minMs: 100, maxMs: dayMs, bareUnitMs: 1 }), 300_000, {
        description: 'Maximum time from the first result of an object to its upload.',
      }),
      max_records: setting(integer({ min: 1, max: maxRecords }), 10_000, {
        description:
          'Maximum number of results in one object. Each shard uploads objects of its own, and keeps up to this number of results in memory.',
      }),
    }),
  }),
  resource_opts: resourceOptions,
})

export const s3Connectors = listNamedSinks('Connections to S3 and services with the S3 API.', s3Connector)
export const s3Actions = listNamedSinks('Actions that upload objects to S3.', s3Action)
