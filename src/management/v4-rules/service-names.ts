// Names of services and their settings in EMQX 4. Other names are the same in both versions.

/** One type of connector in version 4. */
export interface ServiceNames {
  /** Of the connector and its actions in the configuration. */
  readonly type: string
  readonly resource: string
  readonly action: string
  readonly title: string
  /** Setting of the connector, by its name in version 4. */
  readonly settings: Readonly<Record<string, string>>
  /** Parameter of the action, by its name in version 4. */
  readonly parameters: Readonly<Record<string, string>>
}

const known: readonly ServiceNames[] = [
  {
    type: 'http',
    resource: 'web_hook',
    action: 'data_to_webserver',
    title: 'HTTP',
    settings: {},
    parameters: { payload_tmpl: 'body' },
  },
  {
    type: 'mqtt',
    resource: 'bridge_mqtt',
    action: 'data_to_mqtt_broker',
    title: 'MQTT broker',
    settings: { address: 'server', clientid: 'clientid_prefix' },
    parameters: { forward_topic: 'topic', payload_tmpl: 'payload' },
  },
  named('pgsql', 'backend_pgsql', 'PostgreSQL', { user: 'username' }),
  named('timescale', 'backend_timescaledb', 'TimescaleDB', { user: 'username' }),
  named('mysql', 'backend_mysql', 'MySQL', { user: 'username' }),
  named('redis', 'backend_redis_single', 'Redis', {}),
  named('mongodb', 'backend_mongo_single', 'MongoDB', {}),
  named('clickhouse', 'backend_clickhouse', 'ClickHouse', { server: 'url', user: 'username', key: 'password' }),
  named('kafka_producer', 'bridge_kafka', 'Kafka', { servers: 'bootstrap_hosts' }, 'kafka'),
  named('influxdb', 'backend_influxdb', 'InfluxDB', {}),
  named('rabbitmq', 'bridge_rabbit', 'RabbitMQ', {}, 'rabbit'),
]

function named(
  type: string,
  resource: string,
  title: string,
  settings: ServiceNames['settings'],
  action = type,
): ServiceNames {
  const parameters = { payload_tmpl: 'payload_template' }
  return { type, resource, action: `data_to_${action}`, title, settings, parameters }
}

/** Names of a type of connector. */
export function namesOfType(type: string): ServiceNames {
  return known.find((names) => names.type === type) ?? named(type, type, type, {})
}

/** Replaces names in `from` by those in `names`; others stay. */
export function renamed(
  from: Readonly<Record<string, unknown>>,
  names: Readonly<Record<string, string>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(from).map(([key, value]) => [Object.hasOwn(names, key) ? names[key] : key, value]),
  )
}

/** The reverse mapping. */
export function reversed(names: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(names).map(([from, to]) => [to, from]))
}
