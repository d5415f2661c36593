// Sample values of the columns that several events have.

/** 2024-02-23T15:56:30Z in milliseconds. */
export const sampleTime = 1_708_703_790_000

export const commonColumns = { event: 'message.publish', timestamp: sampleTime, node: 'godwit@127.0.0.1' } as const

export const clientColumns = { clientid: 'c_sample', username: 'u_sample', client_attrs: {} }

const messageColumns = {
  ...clientColumns,
  id: '0005E27C1D24E44FF440000017520000',
  payload: '{"msg":"hello"}',
  peerhost: '192.168.0.10',
  peername: '192.168.0.10:56431',
  topic: 't/a',
  qos: 1,
  flags: { dup: false, retain: false },
  pub_props: { 'User-Property': { foo: 'bar' } },
  publish_received_at: sampleTime,
}

export const publishColumns = { ...messageColumns, headers: { proto_ver: 5, protocol: 'mqtt' } }

export const deliveryColumns = { ...publishColumns, from_clientid: 'c_publisher', from_username: 'u_publisher' }

export const connectionColumns = {
  mountpoint: '',
  peername: '192.168.0.10:56431',
  sockname: '0.0.0.0:1883',
  proto_name: 'MQTT',
  proto_ver: 5,
  keepalive: 60,
  clean_start: true,
  expiry_interval: 3_600,
  conn_props: { 'User-Property': { foo: 'bar' } },
}
