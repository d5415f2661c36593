// The metrics in the text of `GET /prometheus`, in their order. The first ones are in the specification, and have no
// words in their help lines but the unit; the others are ours.

export interface Metric {
  readonly type: 'gauge' | 'counter' | 'histogram'
  /** What the help line says behind the name. */
  readonly help: string
}

/** By name. */
export const metrics = {
  svc_connections_count: { type: 'gauge', help: '' },
  svc_connections_max: { type: 'gauge', help: '' },
  svc_sessions_count: { type: 'gauge', help: '' },
  svc_sessions_max: { type: 'gauge', help: '' },
  svc_topics_count: { type: 'gauge', help: '' },
  svc_topics_max: { type: 'gauge', help: '' },
  svc_subscribers_count: { type: 'gauge', help: '' },
  svc_subscribers_max: { type: 'gauge', help: '' },
  svc_messages_received: { type: 'counter', help: '' },
  svc_messages_sent: { type: 'counter', help: '' },
  svc_messages_dropped: { type: 'counter', help: '' },
  svc_memory_usage: { type: 'gauge', help: '(b)' },
  svc_memory_usage_max: { type: 'gauge', help: '(b)' },
  svc_cpu_usage: { type: 'gauge', help: '(%)' },
  svc_cpu_usage_max: { type: 'gauge', help: '(%)' },
  svc_uptime_seconds: { type: 'gauge', help: 'Since the start of the node.' },
  svc_connections_accepted: { type: 'counter', help: 'Connections that were let in at the door.' },
  svc_connections_refused: { type: 'counter', help: 'Connections that were turned away at the door.' },
  svc_subscriptions_count: { type: 'gauge', help: 'Subscriptions of all sessions.' },
  svc_subscriptions_shared_count: { type: 'gauge', help: 'Those of them that are shared.' },
  svc_retained_count: { type: 'gauge', help: 'Retained messages.' },
  svc_packets_received: { type: 'counter', help: 'MQTT packets from clients.' },
  svc_packets_sent: { type: 'counter', help: 'MQTT packets to clients.' },
  svc_bytes_received: { type: 'counter', help: 'Bytes from clients.' },
  svc_bytes_sent: { type: 'counter', help: 'Bytes to clients.' },
  svc_unsent_bytes: { type: 'gauge', help: 'Bytes that wait for clients to read them.' },
  svc_messages_received_rate: { type: 'gauge', help: 'Messages from clients in a second, lately.' },
  svc_messages_sent_rate: { type: 'gauge', help: 'Messages to clients in a second, lately.' },
  svc_messages_dropped_rate: { type: 'gauge', help: 'Messages dropped in a second, lately.' },
  svc_messages_dropped_by_reason: { type: 'counter', help: 'Messages dropped, by reason.' },
  svc_log_lines_dropped: { type: 'counter', help: 'Log lines that were left out because there were too many.' },
  svc_listener_connections_count: { type: 'gauge', help: 'Connections by listener.' },
  svc_listener_connections_refused: { type: 'counter', help: 'Connections that a listener turned away.' },
  svc_alarm_active: { type: 'gauge', help: 'Alarms that hold, by name.' },
  svc_bridge_connected: { type: 'gauge', help: '1: the bridge is connected.' },
  svc_bridge_spool_depth: { type: 'gauge', help: 'Messages of a bridge that are still to go.' },
  svc_bridge_in_flight: { type: 'gauge', help: 'Messages that the remote broker has not acknowledged.' },
  svc_bridge_oldest_seconds: { type: 'gauge', help: 'Age of the oldest message that is still to go.' },
  svc_bridge_messages_sent: { type: 'counter', help: 'Messages to the remote broker.' },
  svc_bridge_messages_sent_again: { type: 'counter', help: 'Those of them that were sent again.' },
  svc_bridge_messages_acknowledged: { type: 'counter', help: 'Messages that the remote broker has acknowledged.' },
  svc_bridge_messages_received: { type: 'counter', help: 'Messages from the remote broker.' },
  svc_bridge_bytes_sent: { type: 'counter', help: 'Bytes to the remote broker.' },
  svc_bridge_bytes_received: { type: 'counter', help: 'Bytes from the remote broker.' },
  svc_bridge_messages_sent_rate: { type: 'gauge', help: 'Messages to the remote broker in a second, lately.' },
  svc_bridge_messages_received_rate: { type: 'gauge', help: 'Messages from the remote broker in a second, lately.' },
  svc_bridge_messages_dropped: { type: 'counter', help: 'Messages that went no further, by reason.' },
  svc_bridge_connects: { type: 'counter', help: 'Connections that the remote broker accepted.' },
  svc_bridge_failures: { type: 'counter', help: 'Connections and attempts that failed.' },
  svc_shards_count: { type: 'gauge', help: 'Shards of the node.' },
  svc_shards_running: { type: 'gauge', help: 'Those of them that serve.' },
  svc_shard_restarts: { type: 'counter', help: 'How often a shard died and was started again.' },
  svc_shard_connections_count: { type: 'gauge', help: 'Connections by shard.' },
  svc_event_loop_delay_mean_seconds: { type: 'gauge', help: 'How late the event loop of a shard came, last second.' },
  svc_event_loop_delay_p99_seconds: { type: 'gauge', help: 'How late it came at most in 99 of 100 times.' },
  svc_event_loop_delay_max_seconds: { type: 'gauge', help: 'How late it came at most.' },
  svc_commit_seconds: { type: 'histogram', help: 'From the beginning of a commit until it is on disk.' },
  svc_acknowledgement_held_seconds: {
    type: 'histogram',
    help: 'How long the first acknowledgement of a commit waited for the disk.',
  },
  svc_turn_seconds: { type: 'histogram', help: 'From the first input of a turn to its end.' },
} as const satisfies Record<string, Metric>

export type MetricName = keyof typeof metrics
