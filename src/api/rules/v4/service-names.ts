// Names that EMQX 4 uses for types of services and for their settings. Names that are not listed are the same in both versions.

/** The names of one type of connector. */
export interface ServiceNames {
  /** Type of the connector and of its actions in the configuration of Godwit. */
  readonly type: string
  /** Type of the resource (the connector) in version 4. */
  readonly resource: string
  /** Name of the action in version 4. */
  readonly action: string
  /** Name that is shown to users. */
  readonly title: string
  /** Settings of the connector: name in version 4 -> name in Godwit. */
  readonly settings: Readonly<Record<string, string>>
  /** Parameters of the action: name in version 4 -> name in Godwit. */
  readonly parameters: Readonly<Record<string, string>>
}

const services: readonly ServiceNames[] = [
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
  createServiceNames('pgsql', 'backend_pgsql', 'PostgreSQL', { settings: { user: 'username' } }),
  createServiceNames('timescale', 'backend_timescaledb', 'TimescaleDB', { settings: { user: 'username' } }),
  createServiceNames('mysql', 'backend_mysql', 'MySQL', { settings: { user: 'username' } }),
  createServiceNames('redis', 'backend_redis_single', 'Redis', {}),
  createServiceNames('mongodb', 'backend_mongo_single', 'MongoDB', {}),
  createServiceNames('clickhouse', 'backend_clickhouse', 'ClickHouse', {
    settings: {
      server: 'url',
      user: 'username',
      key: 'password',
    },
  }),
  createServiceNames('kafka_producer', 'bridge_kafka', 'Kafka', {
    settings: { servers: 'bootstrap_hosts' },
    action: 'kafka',
  }),
  createServiceNames('influxdb', 'backend_influxdb', 'InfluxDB', {}),
  createServiceNames('rabbitmq', 'bridge_rabbit', 'RabbitMQ', { action: 'rabbit' }),
]

/** Returns the names of a service. `action`: the part after `data_to_`. */
function createServiceNames(
  type: string,
  resource: string,
  title: string,
  { settings = {}, action = type }: { readonly settings?: ServiceNames['settings']; readonly action?: string },
): ServiceNames {
  const parameters = { payload_tmpl: 'payload_template' }
  return { type, resource, action: `data_to_${action}`, title, settings, parameters }
}

/** Returns the names of a type of connector. For an unlisted type, all names are the type. */
export function findServiceNames(type: string): ServiceNames {
  return services.find((names) => names.type === type) ?? createServiceNames(type, type, type, {})
}

/** Returns `settings` with the keys that `names` lists replaced. */
export function renameKeys(
  settings: Readonly<Record<string, unknown>>,
  names: Readonly<Record<string, string>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [Object.hasOwn(names, key) ? names[key] : key, value]),
  )
}

/** Returns the reverse mapping. */
export function reverseNames(names: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(names).map(([from, to]) => [to, from]))
}
