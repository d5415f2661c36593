// The pages of the dashboard: where they are, under which heading, and who sees them. A page is loaded when it is opened.

import type { ComponentType } from 'preact'
import { hasOperation, isAllowed, type OperationName } from '../state/api.ts'
import type { MessageKey } from '../state/messages.ts'

export interface PageEntry {
  readonly path: string
  readonly title: MessageKey
  readonly group: MessageKey
  /** An operation without which there is nothing to see. */
  readonly needs: string
  readonly load: () => Promise<{ readonly default: ComponentType }>
}

const allPages: readonly PageEntry[] = [
  {
    path: 'overview',
    title: 'overview',
    group: 'groupMonitor',
    needs: 'get_stats',
    load: () => import('../pages/overview.tsx'),
  },
  {
    path: 'alarms',
    title: 'alarms',
    group: 'groupMonitor',
    needs: 'list_activated_alarms',
    load: () => import('../pages/alarms.tsx'),
  },
  {
    path: 'clients',
    title: 'clients',
    group: 'groupClients',
    needs: 'list_clients',
    load: () => import('../pages/clients.tsx'),
  },
  {
    path: 'subscriptions',
    title: 'subscriptions',
    group: 'groupClients',
    needs: 'list_subscriptions',
    load: () => import('../pages/subscriptions.tsx'),
  },
  {
    path: 'topics',
    title: 'topics',
    group: 'groupClients',
    needs: 'watch_messages',
    load: () => import('../pages/topics.tsx'),
  },
  {
    path: 'retained',
    title: 'retained',
    group: 'groupClients',
    needs: 'list_retained',
    load: () => import('../pages/retained.tsx'),
  },
  {
    path: 'delayed',
    title: 'delayedMessages',
    group: 'groupClients',
    needs: 'list_delayed_messages',
    load: () => import('../pages/delayed.tsx'),
  },
  {
    path: 'topic-metrics',
    title: 'topicMetrics',
    group: 'groupClients',
    needs: 'get_topic_metrics',
    load: () => import('../pages/topic-metrics.tsx'),
  },
  {
    path: 'websocket',
    title: 'webSocketClient',
    group: 'groupClients',
    needs: 'list_brokers',
    load: () => import('../pages/websocket.tsx'),
  },
  {
    path: 'access',
    title: 'accessControl',
    group: 'groupAccess',
    needs: 'list_auth_username',
    load: () => import('../pages/access.tsx'),
  },
  {
    path: 'accounts',
    title: 'accountsAndKeys',
    group: 'groupAccess',
    needs: 'get_users',
    load: () => import('../pages/accounts.tsx'),
  },
  {
    path: 'bridges',
    title: 'bridges',
    group: 'groupIntegration',
    needs: 'get_mqtt_bridges',
    load: () => import('../pages/bridges.tsx'),
  },
  {
    path: 'rules',
    title: 'rulesAndIntegrations',
    group: 'groupIntegration',
    needs: 'get_rules',
    load: () => import('../pages/rules.tsx'),
  },
  {
    path: 'schemas',
    title: 'schemas',
    group: 'groupIntegration',
    needs: 'get_schemas',
    load: () => import('../pages/schemas.tsx'),
  },
  {
    path: 'gateways',
    title: 'gateways',
    group: 'groupIntegration',
    needs: 'get_gateways',
    load: () => import('../pages/gateways.tsx'),
  },
  {
    path: 'dropped',
    title: 'droppedMessages',
    group: 'groupDiagnose',
    needs: 'list_dropped',
    load: () => import('../pages/dropped.tsx'),
  },
  {
    path: 'slow',
    title: 'slow',
    group: 'groupDiagnose',
    needs: 'list_slow_subscriptions',
    load: () => import('../pages/slow.tsx'),
  },
  {
    path: 'trace',
    title: 'logTrace',
    group: 'groupDiagnose',
    needs: 'list_traces',
    load: () => import('../pages/trace.tsx'),
  },
  {
    path: 'nodes',
    title: 'nodes',
    group: 'groupCluster',
    needs: 'list_nodes',
    load: () => import('../pages/nodes.tsx'),
  },
  {
    path: 'listeners',
    title: 'listeners',
    group: 'groupSystem',
    needs: 'list_listeners',
    load: () => import('../pages/listeners.tsx'),
  },
  {
    path: 'backup',
    title: 'backup',
    group: 'groupSystem',
    needs: 'get_backup_files',
    load: () => import('../pages/backup.tsx'),
  },
  {
    path: 'configuration',
    title: 'configuration',
    group: 'groupSystem',
    needs: 'get_broker_configuration',
    load: () => import('../pages/configuration.tsx'),
  },
  {
    path: 'audit',
    title: 'auditLog',
    group: 'groupSystem',
    needs: 'get_audit',
    load: () => import('../pages/audit.tsx'),
  },
  {
    path: 'namespaces',
    title: 'namespaces',
    group: 'groupSystem',
    needs: 'get_namespaces',
    load: () => import('../pages/namespaces.tsx'),
  },
  {
    path: 'about',
    title: 'about',
    group: 'groupSystem',
    needs: 'list_brokers',
    load: () => import('../pages/about.tsx'),
  },
]

/** Pages that the account of the session may see. */
export function listVisiblePages(): readonly PageEntry[] {
  return allPages.filter(({ needs }) => hasOperation(needs) && isAllowed(needs as OperationName))
}
