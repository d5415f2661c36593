// An MQTT client in the page, with credentials of its own: what a device with them may do.

import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Checkbox, qosOptions, Select, TextArea, TextField } from '../parts/fields.tsx'
import { Page } from '../parts/page.tsx'
import { PayloadText } from '../parts/payload.tsx'
import { Name, Time } from '../parts/values.tsx'
import { formatNumber, escapeHiddenLetters } from '../state/format.ts'
import { type ConnectSettings, type LoggedMessage, MqttConnection } from '../state/mqtt-connection.ts'
import { t } from '../state/messages.ts'
import { selectBestForm, formatPayload } from '../state/payload-text.ts'

/** However many messages come, the page is drawn so often. */
const drawMs = 250

interface Connecting {
  readonly connection: MqttConnection | undefined
  readonly connect: (settings: ConnectSettings) => void
}

/** The connection ends with the page. */
function useConnection(): Connecting {
  const [connection, setConnection] = useState<MqttConnection>()
  const [, draw] = useState(0)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(
    () => () => {
      clearTimeout(timer.current)
      timer.current = undefined
      connection?.disconnect()
    },
    [connection],
  )
  const drawSoon = (): void => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      draw((times) => times + 1)
    }, drawMs)
  }
  return { connection, connect: (settings) => setConnection(new MqttConnection(settings, drawSoon)) }
}

export default function WebSocketClient(): JSX.Element {
  const { connection, connect } = useConnection()
  const isConnected = connection?.state === 'connected'
  return (
    <Page title={t('webSocketClient')}>
      <ConnectForm connection={connection} connect={connect} />
      {connection?.problem !== undefined && (
        <div role="alert" class="notice failed">
          {escapeHiddenLetters(connection.problem)}
        </div>
      )}
      <SubscribeForm connection={connection} isConnected={isConnected} filters={connection?.filters ?? noFilters} />
      <PublishForm connection={connection} isConnected={isConnected} />
      <div class="explorer">
        <Log title={t('received')} empty={t('noneReceived')} messages={connection?.received ?? []} />
        <Log title={t('sent')} empty={t('noneSent')} messages={connection?.sent ?? []} isSent={true} />
      </div>
    </Page>
  )
}

function ConnectForm({ connection, connect }: Connecting): JSX.Element {
  const [clientId, setClientId] = useState('')
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const state = connection?.state ?? 'closed'
  const isClosed = state === 'closed'
  const submit = (event: Event): void => {
    event.preventDefault()
    connect({ clientId, username, password })
  }
  return (
    <form class="toolbar panel" onSubmit={submit}>
      <TextField
        label={t('clientIdentifier')}
        value={clientId}
        onInput={setClientId}
        isDisabled={!isClosed}
        placeholder={t('clientIdHint')}
      />
      <TextField label={t('mqttUserName')} value={username} onInput={setUsername} isDisabled={!isClosed} />
      <TextField
        label={t('mqttPassword')}
        type="password"
        value={password}
        onInput={setPassword}
        isDisabled={!isClosed}
      />
      {isClosed ? (
        <button key="connect" type="submit" class="primary">
          {t('connect')}
        </button>
      ) : (
        <button key="disconnect" type="button" onClick={() => connection?.disconnect()}>
          {t('disconnect')}
        </button>
      )}
      <span role="status" class="check" aria-label={t(state)}>
        <span>{t(state)}</span>
        {state === 'connected' && connection !== undefined && connection.clientId !== clientId && (
          <>
            : <Name text={connection.clientId} />
          </>
        )}
      </span>
    </form>
  )
}

/** `isConnected` is a property of its own, because a component is rendered again only if its properties change. */
interface FormProps {
  readonly connection: MqttConnection | undefined
  readonly isConnected: boolean
}

const noFilters: readonly string[] = []

function SubscribeForm({
  connection,
  isConnected,
  filters,
}: FormProps & { readonly filters: readonly string[] }): JSX.Element {
  const [filter, setFilter] = useState('')
  const [problem, setProblem] = useState<string>()
  const submit = (event: Event): void => {
    event.preventDefault()
    setProblem(connection?.subscribe(filter))
  }
  return (
    <section class="panel" aria-label={t('subscriptions')}>
      <form class="toolbar" onSubmit={submit}>
        <TextField label={t('subscribeTopic')} value={filter} onInput={setFilter} isRequired={true} />
        <button type="submit" disabled={!isConnected}>
          {t('subscribe')}
        </button>
      </form>
      <Problem text={problem} />
      {filters.length > 0 && (
        <ul class="chips" aria-label={t('subscribedTo')}>
          {filters.map((one) => (
            <li key={one}>
              <Name text={one} />{' '}
              <button
                type="button"
                class="small"
                aria-label={`${t('remove')} ${escapeHiddenLetters(one)}`}
                onClick={() => connection?.unsubscribe(one)}
              >
                {t('remove')}
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function PublishForm({ connection, isConnected }: FormProps): JSX.Element {
  const [topic, setTopic] = useState('')
  const [payload, setPayload] = useState('')
  const [qos, setQos] = useState<'0' | '1' | '2'>('0')
  const [retain, setRetain] = useState(false)
  const [problem, setProblem] = useState<string>()
  const submit = (event: Event): void => {
    event.preventDefault()
    setProblem(connection?.publish(topic, payload, { qos: Number(qos) as 0 | 1 | 2, retain }))
  }
  return (
    <section class="panel" aria-label={t('publish')}>
      <form onSubmit={submit}>
        <div class="toolbar">
          <TextField label={t('publishTopic')} value={topic} onInput={setTopic} isRequired={true} />
          <Select label={t('qos')} value={qos} options={qosOptions} onChange={setQos} />
          <Checkbox label={t('retain')} isChecked={retain} onChange={setRetain} />
        </div>
        <TextArea label={t('payload')} value={payload} onInput={setPayload} rows={3} />
        <Problem text={problem} />
        <div class="dialog-buttons">
          <button type="submit" class="primary" disabled={!isConnected}>
            {t('publish')}
          </button>
        </div>
      </form>
    </section>
  )
}

function Problem({ text }: { readonly text: string | undefined }): JSX.Element | null {
  if (text === undefined) return null
  return (
    <p role="alert" class="notice failed">
      {escapeHiddenLetters(text)}
    </p>
  )
}

interface LogProps {
  readonly title: string
  readonly empty: string
  readonly messages: readonly LoggedMessage[]
  readonly isSent?: boolean
}

function Log({ title, empty, messages, isSent = false }: LogProps): JSX.Element {
  return (
    <section class="panel">
      <h2>{title}</h2>
      <div role="log" aria-label={title} tabIndex={0} class="log">
        {messages.length === 0 && <p class="empty">{empty}</p>}
        {messages.map((message) => (
          <Message key={message.number} message={message} isSent={isSent} />
        ))}
      </div>
    </section>
  )
}

function Message({ message, isSent }: { readonly message: LoggedMessage; readonly isSent: boolean }): JSX.Element {
  const { ts, topic, payload, qos, isRetained, reason } = message
  const outcome = reason === '' ? t('acknowledged') : (reason ?? t('notAcknowledged'))
  return (
    <article>
      <Time ms={ts} /> <Name text={topic} /> QoS {qos}
      {isRetained && ` ${t('isRetained')}`} · {formatNumber(payload.length)} B
      {isSent && qos > 0 && ` · ${escapeHiddenLetters(outcome)}`}
      <PayloadText text={formatPayload(payload, selectBestForm(payload))} />
    </article>
  )
}
