// Every page of the dashboard with its heading.

import { isLong } from '../test-length.ts'

export const allRoutes: readonly { readonly route: string; readonly heading: string }[] = [
  { route: '#/overview', heading: 'Overview' },
  { route: '#/alarms', heading: 'Alarms' },
  { route: '#/alarms?tab=history', heading: 'Alarms' },
  { route: '#/clients', heading: 'Clients' },
  { route: '#/clients/absent', heading: 'Client absent' },
  { route: '#/clients/absent?tab=explain', heading: 'Client absent' },
  { route: '#/subscriptions', heading: 'Subscriptions' },
  { route: '#/topics', heading: 'Topics' },
  { route: '#/retained', heading: 'Retained messages' },
  { route: '#/delayed', heading: 'Delayed messages' },
  { route: '#/topic-metrics', heading: 'Topic metrics' },
  { route: '#/websocket', heading: 'WebSocket client' },
  { route: '#/access', heading: 'Access control' },
  { route: '#/access?tab=rules', heading: 'Access control' },
  { route: '#/access?tab=bans', heading: 'Access control' },
  { route: '#/access?tab=explain', heading: 'Access control' },
  { route: '#/accounts', heading: 'Accounts and API keys' },
  { route: '#/accounts?tab=keys', heading: 'Accounts and API keys' },
  { route: '#/bridges', heading: 'Bridges' },
  { route: '#/rules', heading: 'Rules and integrations' },
  { route: '#/rules?tab=services', heading: 'Rules and integrations' },
  { route: '#/rules?tab=sources', heading: 'Rules and integrations' },
  { route: '#/schemas', heading: 'Schemas' },
  { route: '#/gateways', heading: 'Gateways' },
  { route: '#/dropped', heading: 'Dropped messages' },
  { route: '#/slow', heading: 'Slow subscriptions' },
  { route: '#/trace', heading: 'Log trace' },
  { route: '#/nodes', heading: 'Nodes' },
  { route: '#/listeners', heading: 'Listeners' },
  { route: '#/backup', heading: 'Backup and Restore' },
  { route: '#/configuration', heading: 'Configuration' },
  { route: '#/configuration?tab=history', heading: 'Configuration' },
  { route: '#/audit', heading: 'Audit log' },
  { route: '#/namespaces', heading: 'Namespaces' },
  { route: '#/about', heading: 'About' },
]

/** Of pages that are made of the same parts, the daily run has one in three where a test looks at parts and not at texts. */
export const routesOfParts = isLong ? allRoutes : allRoutes.filter((_, index) => index % 3 === 0)

/** Dialogs that a broker without clients and data can open, by the exact names of their buttons. */
export const allDialogs: readonly { readonly route: string; readonly button: string }[] = [
  { route: '#/topic-metrics', button: 'Add topic' },
  { route: '#/access', button: 'Add' },
  { route: '#/access?tab=clients', button: 'Add' },
  { route: '#/access?tab=rules', button: 'Add' },
  { route: '#/access?tab=bans', button: 'Add' },
  { route: '#/accounts', button: 'Add account' },
  { route: '#/accounts?tab=keys', button: 'Add API key' },
  { route: '#/rules', button: 'Add rule' },
  { route: '#/rules', button: 'Convert old rule SQL' },
  { route: '#/rules?tab=services', button: 'Add connector' },
  { route: '#/rules?tab=services', button: 'Add action' },
  { route: '#/rules?tab=sources', button: 'Add source' },
  { route: '#/schemas', button: 'Add schema' },
  { route: '#/gateways', button: 'Edit stomp' },
  { route: '#/gateways', button: 'Add listener stomp' },
  { route: '#/trace', button: 'Add trace' },
  { route: '#/namespaces', button: 'Add namespace' },
]

/** Dialogs that buttons in rows open, with the data of `fillBroker`. */
export const dialogsOfRows: readonly { readonly route: string; readonly button: RegExp }[] = [
  { route: '#/clients', button: /^Disconnect pump-0/ },
  { route: '#/retained', button: /^Show plant/ },
  { route: '#/delayed', button: /^Show plant/ },
  { route: '#/schemas', button: /^Edit pump/ },
  { route: '#/rules', button: /^Edit hot/ },
  { route: '#/rules?tab=services', button: /^Edit http:erp/ },
  { route: '#/rules?tab=services', button: /^Edit http:orders/ },
  { route: '#/rules?tab=services', button: /^Dead letters http:orders/ },
  { route: '#/rules?tab=sources', button: /^Edit mqtt:other-plant/ },
  { route: '#/bridges', button: /^Edit headquarters/ },
  { route: '#/trace', button: /^Show hall-1/ },
  { route: '#/nodes', button: /^Stop broker/ },
  { route: '#/backup', button: /^Restore / },
  { route: '#/configuration?tab=history', button: /^Compare / },
  { route: '#/audit', button: /^Show / },
  { route: '#/namespaces', button: /^Limits tenant-a/ },
]
