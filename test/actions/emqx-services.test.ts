// Connectors, actions and sources in the format of EMQX 5: each setting of the contract is accepted.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../../src/config/load-config.ts'
import { isPeerVerified } from '../../src/config/index.ts'
import { planRules } from '../../src/actions/plan/plan-rules.ts'
import { sinkTypes } from '../../src/sinks/index.ts'

const text = `connectors {
  http.a { created_at = 1700000000000, last_modified_at = 1700000000000, url = "http://127.0.0.1:9/x", headers { a = b }, connect_timeout = 15s, pool_size = 8, ssl { enable = false } , pool_type = random, enable_pipelining = 100, resource_opts { health_check_interval = 15s, start_timeout = 5s, start_after_created = true } }
  mqtt.a { server = "127.0.0.1:1883", proto_ver = v5, clientid_prefix = x, username = u, password = p, keepalive = 300s, ssl { enable = false }, pool_size = 8, clean_start = true, retry_interval = 15s, bridge_mode = false, max_inflight = 32 }
  pgsql.a { server = "127.0.0.1:5432", database = d, username = u, password = p, ssl { enable = false, verify = verify_none }, pool_size = 8, auto_reconnect = true, disable_prepared_statements = false }
  timescale.a { server = "127.0.0.1:5432", database = d, username = u, password = p }
  mysql.a { server = "127.0.0.1:3306", database = d, username = u, password = p }
  kafka_producer.a { bootstrap_hosts = "127.0.0.1:9092", authentication = none, ssl { enable = false }, min_metadata_refresh_interval = 3s, metadata_request_timeout = 5s, socket_opts { sndbuf = 1MB }, allow_auto_topic_creation = false }
  kafka_producer.b { bootstrap_hosts = "127.0.0.1:9092", authentication { mechanism = plain, username = u, password = p } }
  influxdb.a { server = "127.0.0.1:8086", parameters { influxdb_type = influxdb_api_v1, database = d, username = u, password = p } }
  influxdb.b { server = "127.0.0.1:8086", parameters { influxdb_type = influxdb_api_v2, bucket = bucket, org = o, token = t } }
  redis.a { parameters { redis_type = single, server = "127.0.0.1:6379", username = u, password = p, database = 0 } }
  disk_log.a { filepath = "x.log", max_file_size = 10MB, max_file_number = 3 }
  s3.a { host = "s3.example.com", port = 443, access_key_id = x, secret_access_key = y, url_expire_time = 1h, transport_options { connect_timeout = 15s, pool_size = 8 } }
  rabbitmq.a { server = "127.0.0.1", port = 5672, username = guest, password = guest, virtual_host = "/", heartbeat = 30s, timeout = 5s, pool_size = 8 }
  mongodb.a { parameters { mongo_type = single, server = "127.0.0.1:27017", w_mode = unsafe }, database = d, username = u, password = p, srv_record = false, use_legacy_protocol = auto, pool_size = 8 }
  clickhouse.a { url = "http://127.0.0.1:8123", database = d, username = u, password = p, connect_timeout = 15s, pool_size = 8 }
  elasticsearch.a { server = "127.0.0.1:9200", authentication { username = u, password = p }, pool_type = random, enable_pipelining = 100 }
  nats.a { server = "127.0.0.1:4222", token = t }
  prometheus_remote_write.a { url = "http://127.0.0.1:9/api/v1/write", headers { a = b } }
}
actions {
  http.a { created_at = 1700000000000, last_modified_at = 1700000000000, connector = a, parameters { method = post, path = "/x", headers { content-type = "application/json" }, body = "\${payload}", max_retries = 2 }, resource_opts { batch_size = 1, batch_time = 0ms, inflight_window = 100, request_ttl = 45s, max_buffer_bytes = 256MB, health_check_interval = 15s, query_mode = async, worker_pool_size = 4, health_check_interval_jitter = 0ms, resume_interval = 1s, buffer_mode = memory_only, buffer_seg_bytes = 10MB } }
  mqtt.a { connector = a, parameters { topic = "x/\${topic}", qos = "\${qos}", retain = "\${flags.retain}", payload = "\${payload}" } }
  pgsql.a { connector = a, parameters { sql = "INSERT INTO t(a) VALUES (\${payload})", undefined_vars_as_null = false } }
  timescale.a { connector = a, parameters { sql = "INSERT INTO t(a) VALUES (\${payload})" } }
  mysql.a { connector = a, parameters { sql = "INSERT INTO t(a) VALUES (\${payload})" } }
  kafka_producer.a { connector = a, parameters { topic = t, message { key = "\${.clientid}", value = "\${.}", timestamp = "\${.timestamp}" }, required_acks = all_isr, compression = no_compression, max_batch_bytes = 896KB, max_linger_time = 0ms, partition_strategy = random, buffer { mode = memory, per_partition_limit = 2GB }, kafka_headers = "\${pub_props}", kafka_ext_headers = [{ kafka_ext_header_key = "\${clientid}", kafka_ext_header_value = v }], kafka_header_value_encode_mode = none, max_inflight = 10, query_mode = async, sync_query_timeout = 5s, partition_count_refresh_interval = 60s, partitions_limit = all_partitions, disable_topic_check = false } }
  influxdb.a { connector = a, parameters { write_syntax = "m,t=\${topic} v=\${payload}", precision = ms } }
  redis.a { connector = a, parameters { command_template = ["SET", "\${clientid}", "\${payload}"] } }
  disk_log.a { connector = a, parameters { template = "\${payload}" } }
  s3.a { connector = a, parameters { bucket = bucket, key = "\${clientid}", content = "\${payload}", mode = direct, acl = public_read, min_part_size = 5MB, max_part_size = 5GB } }
  s3.b { connector = a, parameters { bucket = bucket, key = "\${action}/\${node}/\${datetime.rfc3339utc}/\${sequence}", mode = aggregated, container { type = csv, column_order = [timestamp] }, aggregation { time_interval = 1h, max_records = 10000 } } }
  rabbitmq.a { fallback_actions = [{ kind = reference, type = http, name = a }, { kind = republish, args { topic = "x/\${topic}", qos = 1, retain = false, payload = "\${payload}" } }], connector = a, parameters { headers_template = [{ key = a, value = "\${clientid}" }], properties_template = [{ key = content_type, value = "text/plain" }], exchange = e, routing_key = k, delivery_mode = persistent, payload_template = "\${payload}", wait_for_publish_confirmations = true, publish_confirmation_timeout = 30s } }
  mongodb.a { connector = a, parameters { collection = c, payload_template = "\${.}" } }
  clickhouse.a { connector = a, parameters { sql = "INSERT INTO t(a) VALUES ('\${payload}')", batch_value_separator = ", ", undefined_vars_as_null = true } }
  elasticsearch.a { connector = a, parameters { action = create, index = i, id = "\${id}", doc = "\${.}", max_retries = 2 } }
  nats.a { connector = a, parameters { subject = "a.b", payload = "\${payload}" } }
  prometheus_remote_write.a { connector = a, parameters { metric = m, labels { a = "\${clientid}" }, value = "\${payload}", timestamp = "\${timestamp}" } }
}
sources {
  mqtt.a { created_at = 1700000000000, connector = a, parameters { topic = "t/#", qos = 1 }, resource_opts { health_check_interval = 15s }, tags = [] }
}
rule_engine { ignore_sys_message = true, jq_function_default_timeout = 10s, rules.a { sql = "SELECT * FROM \\"t/#\\"", actions = ["http:a", {function = republish, args { topic = "z", qos = 1, retain = false, payload = "\${payload}", mqtt_properties { "Message-Expiry-Interval" = 5 }, user_properties = "\${user_properties}", direct_dispatch = false }}, {function = console}], enable = true, description = x } }
`

function load(source: string) {
  const loaded = loadConfig({ text: source, file: 'emqx.conf', overrides: [] })
  if (!('config' in loaded)) throw new Error(JSON.stringify(loaded.errors))
  return loaded
}

const problemOfRedis = (settings: string): string | undefined => {
  const connector = load(`connectors.redis.a { ${settings} }`).config.connectors.redis.named.get('a')
  assert.ok(connector !== undefined)
  return sinkTypes.redis.findConnectorProblem(connector)
}

const isServiceVerified = (ssl: string): boolean => {
  const connector = load(`connectors.pgsql.a { ssl { ${ssl} } }`).config.connectors.pgsql.named.get('a')
  assert.ok(connector !== undefined)
  return isPeerVerified(connector.ssl)
}

const mechanismOf = (authentication: string): string | undefined =>
  load(`connectors.kafka_producer.a { ${authentication} }`).config.connectors.kafka_producer.named.get('a')
    ?.authentication.mechanism

test('every setting of connectors, actions and sources of EMQX is accepted', () => {
  const { config } = load(text)
  const planned = planRules(config, 'node')
  assert.ok(!('problem' in planned), 'problem' in planned ? planned.problem : '')
  assert.equal(planned.plan.actions.length, 17)
})

test('settings of EMQX without effect are named in a warning', () => {
  const { warnings } = load(text)
  const keys = warnings.map(({ key }) => key)
  for (const key of [
    'connectors.mqtt.a.pool_size',
    'sources.mqtt.a.resource_opts',
    'connectors.kafka_producer.a.socket_opts',
  ])
    assert.ok(keys.includes(key), key)
})

test('max_retries of an HTTP action is read from `parameters`, as in EMQX', () => {
  const { config } = load(text)
  const action = config.actions.http.named.get('a')
  assert.ok(action !== undefined)
  assert.equal(sinkTypes.http.overrideMaxRetries?.(action), 2)
  const { config: other } = load(`connectors.http.a { url = "http://127.0.0.1:9" }
    actions.http.a { connector = a, resource_opts { max_retries = 5 } }`)
  const withDefaults = other.actions.http.named.get('a')
  assert.ok(withDefaults !== undefined)
  assert.equal(sinkTypes.http.overrideMaxRetries?.(withDefaults), undefined)
})

test('the server of Redis is accepted within `parameters` or at the top level', () => {
  assert.equal(problemOfRedis('server = "127.0.0.1:6379"'), undefined)
  assert.equal(problemOfRedis('parameters { server = "127.0.0.1:6379" }'), undefined)
  assert.match(problemOfRedis('') ?? '', /server: write the address/)
  assert.match(
    problemOfRedis('server = "127.0.0.1:6379", parameters { server = "x:y" }') ?? '',
    /"x:y" is not an address/,
  )
})

test('ssl.verify of EMQX controls whether the certificate of the service is verified', () => {
  assert.equal(isServiceVerified('enable = true'), true)
  assert.equal(isServiceVerified('enable = true, verify = verify_none'), false)
  assert.equal(isServiceVerified('enable = true, verify = verify_peer, verify_peer = false'), true)
  assert.equal(isServiceVerified('enable = true, verify_peer = false'), false)
})

test('authentication of Kafka is a section or the value `none`', () => {
  assert.equal(mechanismOf('authentication = none'), 'none')
  assert.equal(mechanismOf('authentication { mechanism = plain, username = u, password = p }'), 'plain')
  const loaded = loadConfig({ text: 'connectors.kafka_producer.a.authentication = yes', file: 'a', overrides: [] })
  assert.ok(!('config' in loaded))
})
