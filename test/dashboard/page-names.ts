// The elements of each page and dialog of the dashboard, by role and exact name.

import type { Page } from 'playwright-core'

export type Role = Parameters<Page['getByRole']>[0]

export interface PageNames {
  readonly route: string
  readonly heading: string
  /** Exact names, by role. */
  readonly names: Partial<Record<Role, readonly string[]>>
  /** Buttons in rows, whose names begin with this word. */
  readonly rowActions?: readonly string[]
}

const pager = ['First page', 'Previous page', 'Next page']
const exports = ['Export CSV', 'Export JSON']

export const pages: readonly PageNames[] = [
  {
    route: '#/overview',
    heading: 'Overview',
    names: {
      group: [
        'Connections',
        'Sessions',
        'Subscriptions',
        'Retained messages',
        'Messages in',
        'Messages out',
        'Dropped',
      ],
      img: ['Messages per second', 'Connections'],
      radio: ['Last hour', '6 hours', '24 hours'],
      button: ['Pause'],
    },
  },
  {
    route: '#/clients',
    heading: 'Clients',
    names: {
      searchbox: ['Search clients'],
      combobox: ['State', 'Rows per page'],
      checkbox: ['With waiting messages', 'With dropped messages'],
      table: ['Clients'],
      link: ['pump-1'],
      navigation: ['Pages'],
      button: [...pager, ...exports, 'Pause'],
    },
    rowActions: ['Disconnect'],
  },
  {
    route: '#/clients/pump-1',
    heading: 'Client pump-1',
    names: {
      tab: ['Session', 'Subscriptions', 'Queue', 'Timeline', 'Explain'],
      button: ['Disconnect', 'Ban', 'Trace'],
    },
  },
  {
    route: '#/clients/pump-1?tab=subscriptions',
    heading: 'Client pump-1',
    names: { textbox: ['Topic filter'], combobox: ['QoS'], button: ['Subscribe'] },
    rowActions: ['Unsubscribe'],
  },
  {
    route: '#/clients/pump-1?tab=explain',
    heading: 'Client pump-1',
    names: { combobox: ['Action'], textbox: ['Topic'], button: ['Explain'] },
  },
  {
    route: '#/subscriptions',
    heading: 'Subscriptions',
    names: {
      searchbox: ['Search subscriptions'],
      checkbox: ['Shared only'],
      table: ['Subscriptions'],
      button: [...pager, ...exports],
    },
  },
  {
    route: '#/topics',
    heading: 'Topics',
    names: {
      textbox: ['Topic filter', 'Topic', 'Payload'],
      button: ['Start', 'Publish', 'Clear retained'],
      searchbox: ['Search topics'],
      region: ['Messages', 'Publish'],
      combobox: ['QoS'],
      checkbox: ['Retain'],
    },
  },
  {
    route: '#/retained',
    heading: 'Retained messages',
    names: { searchbox: ['Search retained'], table: ['Retained messages'] },
    rowActions: ['Show', 'Delete'],
  },
  { route: '#/delayed', heading: 'Delayed messages', names: { table: ['Delayed messages'], navigation: ['Pages'] } },
  {
    route: '#/topic-metrics',
    heading: 'Topic metrics',
    names: { table: ['Topic metrics'], button: ['Add topic'] },
  },
  {
    route: '#/websocket',
    heading: 'WebSocket client',
    names: {
      textbox: ['Client identifier', 'MQTT user name', 'Subscribe topic', 'Publish topic', 'Payload'],
      button: ['Connect', 'Subscribe', 'Publish'],
      combobox: ['QoS'],
      checkbox: ['Retain'],
      log: ['Received', 'Sent'],
    },
  },
  {
    route: '#/access',
    heading: 'Access control',
    names: { tab: ['Users', 'Client identifiers', 'Rules', 'Bans', 'Explain'], button: ['Add'] },
    rowActions: ['Change password', 'Delete'],
  },
  {
    route: '#/access?tab=explain',
    heading: 'Access control',
    names: { textbox: ['Client identifier', 'User name', 'Topic'], combobox: ['Action'], button: ['Explain'] },
  },
  { route: '#/listeners', heading: 'Listeners', names: { table: ['Listeners'] }, rowActions: ['Restart', 'Stop'] },
  { route: '#/bridges', heading: 'Bridges', names: { switch: ['Enabled b1'] }, rowActions: ['Edit'] },
  {
    route: '#/rules',
    heading: 'Rules and integrations',
    names: { tab: ['Rules', 'Connections to services', 'Sources'], button: ['Add rule', 'Convert old rule SQL'] },
  },
  {
    route: '#/rules?tab=sources',
    heading: 'Rules and integrations',
    names: { table: ['Sources'], button: ['Add source'] },
  },
  { route: '#/schemas', heading: 'Schemas', names: { table: ['Schemas'], button: ['Add schema'] } },
  { route: '#/gateways', heading: 'Gateways', names: { table: ['Gateways'] } },
  { route: '#/nodes', heading: 'Nodes', names: { table: ['Nodes'] }, rowActions: ['Restart broker', 'Stop broker'] },
  { route: '#/alarms', heading: 'Alarms', names: { tab: ['Active', 'History'] } },
  { route: '#/alarms?tab=history', heading: 'Alarms', names: { button: ['Clear history'] } },
  { route: '#/slow', heading: 'Slow subscriptions', names: { spinbutton: ['Threshold (ms)'] } },
  {
    route: '#/trace',
    heading: 'Log trace',
    names: { button: ['Add trace'] },
    rowActions: ['Show', 'Stop', 'Download', 'Delete'],
  },
  {
    route: '#/dropped',
    heading: 'Dropped messages',
    names: { combobox: ['Reason'], searchbox: ['Search dropped'] },
  },
  {
    route: '#/backup',
    heading: 'Backup and Restore',
    names: {
      table: ['Backup files'],
      columnheader: ['File name', 'Node name', 'Created at', 'File size'],
      button: ['Create', 'Upload'],
      combobox: ['Namespace'],
    },
    rowActions: ['Download', 'Restore', 'Delete'],
  },
  {
    route: '#/configuration',
    heading: 'Configuration',
    names: {
      tab: ['Settings', 'Text', 'History'],
      searchbox: ['Search settings'],
      button: ['Review changes'],
    },
  },
  {
    route: '#/configuration?tab=text',
    heading: 'Configuration',
    names: { textbox: ['HOCON'], button: ['Check', 'Apply'] },
  },
  {
    route: '#/configuration?tab=history',
    heading: 'Configuration',
    names: { table: ['Configuration history'] },
    rowActions: ['Compare', 'Roll back'],
  },
  {
    route: '#/accounts',
    heading: 'Accounts and API keys',
    names: { tab: ['Accounts', 'API keys'], button: ['Add account'] },
    rowActions: ['Delete'],
  },
  {
    route: '#/accounts?tab=keys',
    heading: 'Accounts and API keys',
    names: { button: ['Add API key'] },
    rowActions: ['Delete'],
  },
  {
    route: '#/audit',
    heading: 'Audit log',
    names: { searchbox: ['User', 'Operation'], combobox: ['Outcome'], table: ['Audit log'] },
  },
  {
    route: '#/namespaces',
    heading: 'Namespaces',
    names: { button: ['Add namespace'] },
    rowActions: ['Limits', 'Delete'],
  },
  { route: '#/about', heading: 'About', names: {} },
]

interface DialogNames {
  readonly route: string
  /** The button that opens the dialog. */
  readonly button: string
  readonly dialog: string
  readonly labels: readonly string[]
  readonly buttons: readonly string[]
}

export const dialogs: readonly DialogNames[] = [
  {
    route: '#/access',
    button: 'Add',
    dialog: 'Add user',
    labels: ['User name', 'Password'],
    buttons: ['Save', 'Cancel'],
  },
  {
    route: '#/access?tab=clients',
    button: 'Add',
    dialog: 'Add client identifier',
    labels: ['Client identifier', 'Password'],
    buttons: ['Save', 'Cancel'],
  },
  {
    route: '#/access?tab=rules',
    button: 'Add',
    dialog: 'Add rule',
    labels: ['Who', 'Topic', 'Action', 'Access'],
    buttons: ['Save', 'Cancel'],
  },
  {
    route: '#/access?tab=bans',
    button: 'Add',
    dialog: 'Add ban',
    labels: ['Who', 'By', 'Until', 'Reason'],
    buttons: ['Save', 'Cancel'],
  },
  {
    route: '#/clients/pump-1',
    button: 'Ban',
    dialog: 'Add ban',
    labels: ['Who', 'By', 'Until', 'Reason'],
    buttons: ['Save', 'Cancel'],
  },
  {
    route: '#/clients/pump-1',
    button: 'Trace',
    dialog: 'Add trace',
    labels: ['Name', 'Type', 'Value', 'Duration (s)'],
    buttons: ['Save', 'Cancel'],
  },
  {
    route: '#/trace',
    button: 'Add trace',
    dialog: 'Add trace',
    labels: ['Name', 'Type', 'Value', 'Duration (s)'],
    buttons: ['Save', 'Cancel'],
  },
  { route: '#/rules', button: 'Add rule', dialog: 'Add rule', labels: ['SQL'], buttons: ['Test', 'Save'] },
  {
    route: '#/rules',
    button: 'Convert old rule SQL',
    dialog: 'Convert old rule SQL',
    labels: ['Old SQL', 'New SQL'],
    buttons: [],
  },
  {
    route: '#/schemas',
    button: 'Add schema',
    dialog: 'Add schema',
    labels: ['Name', 'Type', 'Source', 'Description'],
    buttons: ['Save', 'Cancel'],
  },
  {
    route: '#/topic-metrics',
    button: 'Add topic',
    dialog: 'Add topic',
    labels: ['Topic'],
    buttons: ['Save', 'Cancel'],
  },
  {
    route: '#/accounts',
    button: 'Add account',
    dialog: 'Add account',
    labels: ['User name', 'Password', 'Role', 'Namespace'],
    buttons: ['Save'],
  },
  {
    route: '#/accounts?tab=keys',
    button: 'Add API key',
    dialog: 'Add API key',
    labels: ['Name', 'Role', 'Expires'],
    buttons: ['Save'],
  },
  {
    route: '#/namespaces',
    button: 'Add namespace',
    dialog: 'Add namespace',
    labels: ['Namespace name'],
    buttons: ['Save'],
  },
]
