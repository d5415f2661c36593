// Every command of `godwit ctl`. A new set adds its line here.

import type { CtlCommand } from '../ctl-command.ts'
import { accountCommands } from './account-commands.ts'
import { alarmCommands } from './alarm-commands.ts'
import { anyCommands } from './any-command.ts'
import { auditCommands } from './audit-command.ts'
import { bridgeCommands } from './bridge-commands.ts'
import { clusterCommands } from './cluster-commands.ts'
import { controlCommands } from './control-commands.ts'
import { clientCommands } from './client-commands.ts'
import { configurationCommands } from './configuration-commands.ts'
import { credentialCommands } from './credential-commands.ts'
import { backupCommands } from './backup-commands.ts'
import { delayedCommands } from './delayed-commands.ts'
import { diagnosticsCommands } from './diagnostics-commands.ts'
import { gatewayCommands } from './gateway-commands.ts'
import { gatewayAuthenticationCommands } from './gateway-authentication-commands.ts'
import { listenerCommands } from './listener-commands.ts'
import { moduleCommands } from './module-commands.ts'
import { namespaceCommands } from './namespace-commands.ts'
import { publishingCommands } from './publishing-commands.ts'
import { ruleCommands } from './rule-commands.ts'
import { sourceCommands } from './source-commands.ts'
import { clientRuleCommands } from './client-rule-commands.ts'
import { schemaCommands } from './schema-commands.ts'
import { statusCommands } from './status-command.ts'
import { tokenCommands } from './token-command.ts'
import { topicSettingCommands } from './topic-setting-commands.ts'
import { traceCommands } from './trace-commands.ts'

export const ctlCommands: readonly CtlCommand[] = [
  ...statusCommands,
  ...controlCommands,
  ...clusterCommands,
  ...clientCommands,
  ...publishingCommands,
  ...listenerCommands,
  ...moduleCommands,
  ...diagnosticsCommands,
  ...bridgeCommands,
  ...alarmCommands,
  ...configurationCommands,
  ...backupCommands,
  ...credentialCommands,
  ...clientRuleCommands,
  ...ruleCommands,
  ...sourceCommands,
  ...schemaCommands,
  ...gatewayCommands,
  ...gatewayAuthenticationCommands,
  ...delayedCommands,
  ...topicSettingCommands,
  ...traceCommands,
  ...accountCommands,
  ...auditCommands,
  ...namespaceCommands,
  ...tokenCommands,
  ...anyCommands,
]

/** Descriptions of the first words of commands that have two words. */
export const ctlGroups: Readonly<Record<string, string>> = {
  cluster: 'the cluster: its nodes, the homes of its shards, and what does not work',
  clients: 'connected clients, and sessions of disconnected ones',
  subscriptions: 'subscriptions of clients',
  topics: 'topic filters that have subscriptions',
  listeners: 'listeners: addresses on which clients connect',
  modules: 'features that can be turned on and off',
  delayed: 'delayed messages',
  rewrite: 'rules that replace topics of clients',
  'auto-subscribe': 'subscriptions that the broker makes for each client that connects',
  sources: 'sources: receive messages for rules from services',
  'topic-metrics': 'counters of single topics',
  gateways: 'gateways for other protocols, and their clients',
  user: 'stored users: user names and passwords of clients',
  clientid: 'stored clients: client IDs and passwords of clients',
  scram: 'stored users for SCRAM authentication',
  psk: 'stored pre-shared keys (PSK) of clients for TLS',
  config: 'the configuration of the running broker, and its history',
  data: 'backup archives of the configuration and all stored data',
  bridges: 'bridges: connections to remote brokers',
  acl: 'stored access rules of clients',
  rules: 'rules in SQL over messages',
  schemas: 'schemas by which rules encode, decode and check data',
  connectors: 'connectors: connections to services, which actions and sources use',
  actions: 'actions: send the results of rules to services',
  ban: 'bans of client IDs, user names and addresses',
  trace: 'traces: files with the events of a client, a topic or an address',
  admins: 'accounts of the management API',
  'api-key': 'API keys, with which programs use the management API',
  namespaces: 'namespaces: separate sets of clients, topics and access records',
  retained: 'retained messages',
  api: 'list and call the operations of the management API',
}
