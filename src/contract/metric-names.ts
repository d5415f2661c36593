// The metrics of `GET /prometheus`, in order. The help of the first ones begins with the unit that other brokers write there.

import { counterMetrics, type CounterMetricName } from '../telemetry/index.ts'

export interface Metric {
  readonly type: 'gauge' | 'counter' | 'histogram'
  /** The text after the name in the help line. */
  readonly help: string
}

const otherMetrics = {
  svc_connections_count: { type: 'gauge', help: 'Connected clients.' },
  svc_connections_max: { type: 'gauge', help: 'Highest number of connected clients since the start.' },
  svc_sessions_count: { type: 'gauge', help: 'Sessions, of connected and disconnected clients.' },
  svc_sessions_max: { type: 'gauge', help: 'Highest number of sessions since the start.' },
  svc_topics_count: { type: 'gauge', help: 'Topic filters with subscribers.' },
  svc_topics_max: { type: 'gauge', help: 'Highest number of topic filters with subscribers since the start.' },
  svc_subscribers_count: { type: 'gauge', help: 'Clients with at least one subscription.' },
  svc_subscribers_max: { type: 'gauge', help: 'Highest number of clients with a subscription since the start.' },
  svc_messages_received: { type: 'counter', help: 'Messages from clients.' },
  svc_messages_sent: { type: 'counter', help: 'Messages to clients.' },
  svc_messages_dropped: { type: 'counter', help: 'Messages dropped, also for lack of a subscriber.' },
  svc_memory_usage: { type: 'gauge', help: '(b) Resident memory of the process, in bytes.' },
  svc_memory_usage_max: { type: 'gauge', help: '(b) Highest resident memory since the start, in bytes.' },
  svc_cpu_usage: { type: 'gauge', help: '(%) Processor time of the process, in percent of one processor.' },
  svc_cpu_usage_max: {
    type: 'gauge',
    help: '(%) Highest processor time since the start, in percent of one processor.',
  },
  svc_uptime_seconds: { type: 'gauge', help: 'Seconds since the start of the node.' },
  svc_clients_refused_total: { type: 'counter', help: 'Refused CONNECT packets, by reason.' },
  svc_messages_received_rate: { type: 'gauge', help: 'Messages from clients per second.' },
  svc_messages_sent_rate: { type: 'gauge', help: 'Messages to clients per second.' },
  svc_messages_dropped_rate: {
    type: 'gauge',
    help: 'Messages dropped per second, without those that had no subscriber.',
  },
  svc_messages_dropped_by_reason_total: { type: 'counter', help: 'Messages dropped, by reason.' },
  godwit_packets_refused_total: { type: 'counter', help: 'Refused packets of accepted clients, by reason.' },
  svc_memory_limit_bytes: { type: 'gauge', help: 'Memory limit of the process in bytes: node.memory_limit.' },
  svc_memory_level: {
    type: 'gauge',
    help: 'Memory level: 0 normal, 1 soft, 2 hard.',
  },
  svc_memory_held_bytes: { type: 'gauge', help: 'Estimated bytes of memory used for clients, by use.' },
  svc_listener_connections: { type: 'gauge', help: 'Open connections, by listener.' },
  svc_listener_connections_accepted_total: { type: 'counter', help: 'Connections accepted by a listener.' },
  svc_listener_connections_refused_total: { type: 'counter', help: 'Connections refused by a listener.' },
  svc_disk_free_bytes: { type: 'gauge', help: 'Free bytes of the disk with the data directory.' },
  svc_open_files: { type: 'gauge', help: 'Open files and connections of the process.' },
  svc_open_files_limit: { type: 'gauge', help: 'Maximum number of open files of the process.' },
  svc_open_files_lacking_seconds_total: { type: 'counter', help: 'Seconds in which the process could not open files.' },
  svc_certificate_end_timestamp_seconds: {
    type: 'gauge',
    help: 'Expiry of a certificate of the broker, in seconds since 1970.',
  },
  svc_alarm_active: { type: 'gauge', help: 'Active alarms, by name.' },
  svc_bridge_connected: { type: 'gauge', help: '1: the bridge is connected; 0: it is not.' },
  svc_bridge_state: { type: 'gauge', help: '1: the bridge is in this state; 0: it is not.' },
  svc_bridge_last_error_timestamp_seconds: {
    type: 'gauge',
    help: 'Time of the last error of the bridge, in seconds since 1970; 0: none.',
  },
  svc_bridge_spool_depth: { type: 'gauge', help: 'Messages queued for the remote broker.' },
  svc_bridge_in_flight: { type: 'gauge', help: 'Messages that the remote broker has not acknowledged.' },
  svc_bridge_oldest_seconds: {
    type: 'gauge',
    help: 'Age of the oldest message in the queue of the bridge, in seconds.',
  },
  svc_bridge_lag_seconds: { type: 'gauge', help: 'Delay of the remote broker in seconds; 0: no message is queued.' },
  svc_bridge_messages_sent_total: { type: 'counter', help: 'Messages to the remote broker.' },
  svc_bridge_messages_sent_again_total: {
    type: 'counter',
    help: 'Messages that were redelivered to the remote broker.',
  },
  svc_bridge_messages_acknowledged_total: {
    type: 'counter',
    help: 'Messages that the remote broker has acknowledged.',
  },
  svc_bridge_messages_received_total: { type: 'counter', help: 'Messages from the remote broker.' },
  svc_bridge_bytes_sent_total: { type: 'counter', help: 'Bytes to the remote broker.' },
  svc_bridge_bytes_received_total: { type: 'counter', help: 'Bytes from the remote broker.' },
  svc_bridge_messages_sent_rate: { type: 'gauge', help: 'Messages to the remote broker per second.' },
  svc_bridge_messages_received_rate: { type: 'gauge', help: 'Messages from the remote broker per second.' },
  svc_bridge_messages_dropped_total: { type: 'counter', help: 'Messages dropped by the bridge, by reason.' },
  svc_bridge_filters_passed_on: { type: 'gauge', help: 'Filters of clients that a transparent bridge subscribed to.' },
  svc_bridge_filters_not_passed_on: {
    type: 'gauge',
    help: 'Filters that a transparent bridge did not subscribe to: above the limit, or refused by the remote broker.',
  },
  svc_bridge_connects_total: { type: 'counter', help: 'Connections that the remote broker accepted.' },
  svc_bridge_failures_total: { type: 'counter', help: 'Failed connections and connection attempts of a bridge.' },
  godwit_rule_matched_total: { type: 'counter', help: 'Messages and events that a rule ran for.' },
  godwit_rule_passed_total: { type: 'counter', help: 'Runs of a rule that gave results.' },
  godwit_rule_failed_total: { type: 'counter', help: 'Runs of a rule without results, by reason.' },
  godwit_rule_matched_rate: { type: 'gauge', help: 'Runs of a rule in the last second.' },
  godwit_rule_results_total: { type: 'counter', help: 'Results of a rule that were passed to actions, by outcome.' },
  godwit_rule_action_connected: { type: 'gauge', help: '1: the action is connected in all shards; 0: it is not.' },
  godwit_rule_action_matched_total: { type: 'counter', help: 'Results that an action received.' },
  godwit_rule_action_success_total: { type: 'counter', help: 'Results that the service of an action accepted.' },
  godwit_rule_action_failed_total: { type: 'counter', help: 'Results of an action that became dead letters.' },
  godwit_rule_action_retried_total: {
    type: 'counter',
    help: 'Attempts to send a result again after the first attempt failed.',
  },
  godwit_rule_action_dropped_total: { type: 'counter', help: 'Results that an action did not store, by reason.' },
  godwit_rule_action_queuing: { type: 'gauge', help: 'Results that are stored for an action and not in flight.' },
  godwit_rule_action_inflight: { type: 'gauge', help: 'Results in flight that the service has not acknowledged.' },
  godwit_rule_action_oldest_seconds: {
    type: 'gauge',
    help: 'Age of the oldest result that waits for the service, in seconds.',
  },
  godwit_rule_action_dead_letters: { type: 'gauge', help: 'Stored dead letters of an action.' },
  godwit_rule_action_dead_letters_dropped_total: {
    type: 'counter',
    help: 'Dead letters of an action that were dropped, because there were too many.',
  },
  godwit_rule_connector_connected: {
    type: 'gauge',
    help: '1: all actions of the connector are connected; 0: they are not.',
  },
  godwit_topic_messages_total: { type: 'counter', help: 'Messages of counted topics, by topic, direction and QoS.' },
  godwit_topic_dropped_total: { type: 'counter', help: 'Messages of counted topics without a receiver, by topic.' },
  svc_shards: { type: 'gauge', help: 'Shards of the node.' },
  svc_shards_running: { type: 'gauge', help: 'Running shards of the node.' },
  svc_shard_restarts_total: { type: 'counter', help: 'Restarts of shards after a failure.' },
  svc_shard_connections: { type: 'gauge', help: 'Open connections, by shard.' },
  svc_event_loop_delay_mean_seconds: {
    type: 'gauge',
    help: 'Mean delay of the event loop of a shard in the last second, in seconds.',
  },
  svc_event_loop_delay_p99_seconds: {
    type: 'gauge',
    help: '99th percentile of the delay of the event loop of a shard, in seconds.',
  },
  svc_event_loop_delay_max_seconds: { type: 'gauge', help: 'Maximum delay of the event loop of a shard, in seconds.' },
  svc_thread_heap_bytes: { type: 'gauge', help: 'Bytes of the heap of a shard, including garbage.' },
  svc_thread_buffers_bytes: { type: 'gauge', help: 'Bytes of buffers of a shard outside its heap.' },
  svc_gateway_clients: { type: 'gauge', help: 'Clients of a gateway.' },
  svc_gateway_received_total: { type: 'counter', help: 'Datagrams, or frames of a stream, that a gateway received.' },
  svc_gateway_sent_total: { type: 'counter', help: 'Datagrams, or frames of a stream, that a gateway sent.' },
  svc_gateway_retransmitted_total: { type: 'counter', help: 'Datagrams that a gateway sent again.' },
  svc_gateway_dropped_total: {
    type: 'counter',
    help: 'Datagrams, frames and messages that a gateway dropped, by reason.',
  },
  svc_commit_seconds: { type: 'histogram', help: 'Duration of a commit, in seconds.' },
  svc_acknowledgement_held_seconds: {
    type: 'histogram',
    help: 'Time that the first acknowledgement of a commit waited, in seconds.',
  },
  svc_turn_seconds: { type: 'histogram', help: 'Duration of a turn of a shard, in seconds.' },
} as const satisfies Record<string, Metric>

export type MetricName = keyof typeof otherMetrics | CounterMetricName

/** By name. Metrics of one counter are defined with the counter. */
export const metrics: Readonly<Record<MetricName, Metric>> = { ...otherMetrics, ...counterMetrics }
