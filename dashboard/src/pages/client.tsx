// Page of one client: session, subscriptions, queue, timeline, and explanations of access decisions.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { qosOptions, Select, TextField } from '../parts/fields.tsx'
import { Facts, FailureNotice, Page } from '../parts/page.tsx'
import { DataTable, withKeys } from '../parts/table.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { CopyButton, LocalTime, Name, Time } from '../parts/values.tsx'
import { api, isAllowed } from '../state/api.ts'
import { formatBytes, formatSeconds, escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, type Query, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showResult } from '../state/results.ts'
import { readQueryValue } from '../state/router.ts'
import { confirmDisconnect, BanDialog, TraceDialog } from './client-acts.tsx'
import { formatProtocolVersion } from './clients.tsx'
import { Explain } from './explain.tsx'

type LookupReply = Extract<Awaited<ReturnType<typeof api.lookup_client>>, { reply: unknown }>['reply']
type ClientRow = LookupReply['data'][number]

export function ClientPage({ clientId }: { readonly clientId: string }): JSX.Element {
  const params = { clientid: clientId }
  const found = useQuery(`client ${clientId}`, (options) => api.lookup_client({ params }, options), listMs)
  const client = found.reply?.data[0]
  return (
    <Page
      title={t('clientTitle', { name: escapeHiddenLetters(clientId) })}
      isLive={true}
      actions={<ClientButtons clientId={clientId} client={client} onDone={found.reload} />}
    >
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      {found.reply !== undefined && client === undefined && <p class="empty">{t('noSuchClient')}</p>}
      <Tabs
        label={t('clientTabs')}
        tabs={[
          { key: 'session', title: t('session'), render: () => <SessionFacts client={client} /> },
          { key: 'subscriptions', title: t('subscriptions'), render: () => <Subscriptions clientId={clientId} /> },
          { key: 'queue', title: t('queue'), render: () => <Queue clientId={clientId} /> },
          { key: 'timeline', title: t('timeline'), render: () => <Timeline clientId={clientId} /> },
          {
            key: 'explain',
            title: t('explain'),
            render: () => <Explain clientId={clientId} topic={readQueryValue('topic')} />,
          },
        ]}
      />
    </Page>
  )
}

interface ButtonsProps {
  readonly clientId: string
  readonly client: ClientRow | undefined
  readonly onDone: () => void
}

function ClientButtons({ clientId, client, onDone }: ButtonsProps): JSX.Element {
  const [open, setOpen] = useState<'ban' | 'trace'>()
  const close = (): void => setOpen(undefined)
  return (
    <>
      <CopyButton text={clientId} what={t('clientId')} />
      {isAllowed('kickout_client') && (
        <button
          type="button"
          class="danger"
          disabled={client?.connected !== true}
          onClick={() => confirmDisconnect(clientId, onDone)}
        >
          {t('disconnect')}
        </button>
      )}
      {isAllowed('create_banned') && (
        <button type="button" class="danger" onClick={() => setOpen('ban')}>
          {t('ban')}
        </button>
      )}
      {isAllowed('create_trace') && (
        <button type="button" onClick={() => setOpen('trace')}>
          {t('trace')}
        </button>
      )}
      {open === 'ban' && <BanDialog who={clientId} onClose={close} onDone={onDone} />}
      {open === 'trace' && <TraceDialog clientId={clientId} onClose={close} onDone={onDone} />}
    </>
  )
}

function SessionFacts({ client }: { readonly client: ClientRow | undefined }): JSX.Element | null {
  if (client === undefined) return null
  return (
    <Facts
      facts={[
        [t('state'), t(client.connected ? 'connected' : 'disconnected')],
        [t('userName'), client.username === '' ? t('none') : <Name text={client.username} />],
        [t('namespace'), client.namespace === undefined ? t('global') : <Name text={client.namespace} />],
        [t('address'), client.ip_address === '' ? t('none') : `${client.ip_address}:${client.port}`],
        [t('mqttVersion'), formatProtocolVersion(client.proto_ver)],
        [t('nodeName'), <Name key="node" text={client.node} />],
        [t('connectedAt'), <LocalTime key="connected" text={client.connected_at} />],
        [t('disconnectedAt'), client.disconnected_at === undefined ? '–' : <LocalTime text={client.disconnected_at} />],
        [t('createdAt'), <LocalTime key="created" text={client.created_at} />],
        [t('keepAlive'), client.keepalive === 0 ? t('none') : formatSeconds(client.keepalive)],
        [t('expiry'), formatSeconds(client.expiry_interval)],
        [t('cleanStart'), t(client.clean_start ? 'yes' : 'no')],
        [t('subscriptions'), t('usedOf', { used: client.subscriptions_cnt, limit: client.max_subscriptions })],
        [t('inflight'), t('usedOf', { used: client.inflight, limit: client.max_inflight })],
        [t('waiting'), t('usedOf', { used: client.mqueue_len, limit: client.max_mqueue })],
        [t('awaitingRelease'), t('usedOf', { used: client.awaiting_rel, limit: client.max_awaiting_rel })],
        [t('dropped'), client.mqueue_dropped],
        [t('messagesFrom'), client.recv_msg],
        [t('messagesTo'), client.send_msg],
        [t('bytesFrom'), formatBytes(client.recv_oct)],
        [t('bytesTo'), formatBytes(client.send_oct)],
      ]}
    />
  )
}

function Subscriptions({ clientId }: { readonly clientId: string }): JSX.Element {
  const params = { clientid: clientId }
  const limit = 200
  const found = useQuery(
    `subscriptions of ${clientId}`,
    (options) => api.lookup_client_subscriptions({ params, query: { limit } }, options),
    listMs,
  )
  const unsubscribe = (topic: string): void =>
    confirmBefore({
      title: t('unsubscribeTitle', { topic: escapeHiddenLetters(topic) }),
      text: t('unsubscribeText', { name: escapeHiddenLetters(clientId) }),
      act: t('unsubscribe'),
      run: async () => {
        const result = await api.mqtt_unsubscribe({ body: { clientid: clientId, topic } })
        showResult(t('unsubscribeTitle', { topic }), result)
        found.reload()
        return true
      },
    })
  return (
    <>
      {isAllowed('mqtt_subscribe') && <SubscribeForm clientId={clientId} found={found} />}
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('subscriptions')}
        rows={found.reply?.data}
        rowKey={({ topic }) => topic}
        query={found}
        empty={t('noSubscriptions')}
        columns={[
          { key: 'topic', title: t('topicFilter'), value: ({ topic }) => topic, canCopy: true },
          { key: 'qos', title: t('qos'), value: ({ qos }) => qos, isNumber: true },
        ]}
        actions={
          isAllowed('mqtt_unsubscribe')
            ? [{ word: t('unsubscribe'), isDangerous: true, run: ({ topic }) => unsubscribe(topic) }]
            : []
        }
      />
    </>
  )
}

interface SubscribeProps {
  readonly clientId: string
  readonly found: Query<unknown>
}

function SubscribeForm({ clientId, found }: SubscribeProps): JSX.Element {
  const [topic, setTopic] = useState('')
  const [qos, setQos] = useState<'0' | '1' | '2'>('1')
  const subscribe = async (event: Event): Promise<void> => {
    event.preventDefault()
    const result = await api.mqtt_subscribe({ body: { clientid: clientId, topic, qos: Number(qos) } })
    if (showResult(`${t('subscribe')} ${topic}`, result)) setTopic('')
    found.reload()
  }
  return (
    <form class="toolbar" onSubmit={(event) => void subscribe(event)}>
      <TextField label={t('topicFilter')} value={topic} onInput={setTopic} isRequired={true} />
      <Select label={t('qos')} value={qos} options={qosOptions} onChange={setQos} />
      <button type="submit">{t('subscribe')}</button>
    </form>
  )
}

/** Maximum number of messages in the tab, from the start of the queue. */
const maxQueueRows = 200

function Queue({ clientId }: { readonly clientId: string }): JSX.Element {
  const request = { params: { clientid: clientId }, query: { limit: maxQueueRows } }
  const found = useQuery(`queue ${clientId}`, (options) => api.client_queue(request, options), listMs)
  const rows = found.reply && withKeys(found.reply.data)
  return (
    <>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('queue')}
        rows={rows}
        rowKey={({ rowKey }) => rowKey}
        query={found}
        empty={t('noQueue')}
        columns={[
          { key: 'state', title: t('state'), value: ({ state }) => t(queueStates[state]) },
          {
            key: 'topic',
            title: t('topic'),
            value: ({ topic }) => topic ?? '',
            render: ({ topic }) => (topic === null ? '–' : <Name text={topic} />),
            canCopy: true,
          },
          { key: 'qos', title: t('qos'), value: ({ qos }) => qos, isNumber: true },
          { key: 'payload_bytes', title: t('bytes'), value: (row) => row.payload_bytes, isNumber: true },
          {
            key: 'publish_at',
            title: t('publishedAt'),
            value: (row) => row.publish_at,
            render: (row) => (row.publish_at === null ? '–' : <Time ms={row.publish_at} />),
          },
        ]}
      />
    </>
  )
}

const queueStates = { waiting: 'waiting', inflight: 'inflight', rel: 'awaitingCompletion' } as const

function Timeline({ clientId }: { readonly clientId: string }): JSX.Element {
  const params = { clientid: clientId }
  const found = useQuery(`timeline ${clientId}`, (options) => api.client_timeline({ params }, options), listMs)
  const rows = found.reply && withKeys(found.reply.data.toReversed())
  return (
    <>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('timeline')}
        rows={rows}
        rowKey={({ rowKey }) => rowKey}
        query={found}
        empty={t('noTimeline')}
        columns={[
          { key: 'ts', title: t('time'), value: ({ ts }) => ts, render: ({ ts }) => <Time ms={ts} /> },
          { key: 'event', title: t('event'), value: ({ event }) => event },
          { key: 'text', title: t('why'), value: ({ text }) => text },
          { key: 'reason_code', title: t('reasonCode'), value: (row) => row.reason_code, isNumber: true },
          { key: 'ip_address', title: t('address'), value: (row) => row.ip_address },
          { key: 'count', title: t('count'), value: ({ count }) => count, isNumber: true },
        ]}
      />
    </>
  )
}
