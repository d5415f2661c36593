// Live messages as a tree of topics, the payload of a selected topic, and a form to publish.

import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Checkbox, qosOptions, Search, Select, TextArea, TextField } from '../parts/fields.tsx'
import { FailureNotice, Page } from '../parts/page.tsx'
import { DataTable } from '../parts/table.tsx'
import { TopicTree } from '../parts/topic-tree.tsx'
import { api, type Failure } from '../state/api.ts'
import { formatNumber, escapeHiddenLetters } from '../state/format.ts'
import { LiveTopics } from '../state/live-topics.ts'
import { t } from '../state/messages.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showResult } from '../state/results.ts'
import { changeQuery, readQueryValue } from '../state/router.ts'
import { createClientColumn } from './message-columns.tsx'
import { MessageList } from './topic-messages.tsx'

/** However many messages come, the page is drawn so often. */
const drawMs = 250
const msPerSecond = 1_000

interface Watching {
  readonly live: LiveTopics | undefined
  readonly isRunning: boolean
  readonly failure: Failure | undefined
  readonly start: (filter: string) => void
  readonly stop: () => void
}

function useLive(): Watching {
  const [live, setLive] = useState<LiveTopics>()
  const [isRunning, setRunning] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  const [, draw] = useState(0)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(
    () => () => {
      clearTimeout(timer.current)
      live?.stop()
    },
    [live],
  )
  const drawSoon = (): void => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      draw((times) => times + 1)
    }, drawMs)
  }
  const start = (filter: string): void => {
    const next = new LiveTopics()
    setFailure(undefined)
    setLive(next)
    setRunning(true)
    void next.read(filter, drawSoon).then((failed) => {
      setFailure(failed)
      setRunning(false)
    })
  }
  return { live, isRunning, failure, start, stop: () => live?.stop() }
}

export default function Topics(): JSX.Element {
  const [selected, setSelected] = useState<string>()
  const [filter, setFilter] = useState(readQueryValue('filter') === '' ? '#' : readQueryValue('filter'))
  const { live, isRunning, failure, start, stop } = useLive()
  const begin = (event?: Event): void => {
    event?.preventDefault()
    changeQuery({ filter: filter === '#' ? undefined : filter })
    setSelected(undefined)
    start(filter)
  }
  const seconds = live === undefined ? 0 : (performance.now() - live.startedAtMs) / msPerSecond
  return (
    <Page title={t('topics')}>
      <form class="toolbar" onSubmit={begin}>
        <TextField
          label={t('topicFilter')}
          value={filter}
          onInput={setFilter}
          isRequired={true}
          isDisabled={isRunning}
        />
        {isRunning ? (
          <button key="stop" type="button" onClick={stop}>
            {t('stop')}
          </button>
        ) : (
          <button key="start" type="submit" class="primary">
            {t('start')}
          </button>
        )}
        <Search label={t('searchTopics')} />
      </form>
      <FailureNotice failure={failure} onRetry={begin} />
      {live !== undefined && (
        <p class="empty">
          {t('liveCounts', {
            received: formatNumber(live.received),
            topics: formatNumber(live.nodes),
            left: formatNumber(live.leftOut),
          })}
        </p>
      )}
      <div class="explorer">
        {live === undefined || live.nodes === 0 ? (
          <p class="empty">{t('noTopics')}</p>
        ) : (
          <TopicTree
            root={live.root}
            seconds={seconds}
            search={readQueryValue('search')}
            selected={selected}
            onSelect={(topic) => {
              live.follow(topic)
              setSelected(topic)
            }}
          />
        )}
        <MessageList
          key={selected}
          messages={(selected === undefined ? live?.messages : live?.followed) ?? []}
          selected={selected}
        />
      </div>
      {live !== undefined && live.publishers.size > 0 && <BusiestClients publishers={live.publishers} />}
      <PublishForm key={selected} topic={selected ?? ''} />
    </Page>
  )
}

/** Rows of the table. */
const maxBusiest = 10

/** Of the messages that came: the broker leaves out some where there are many. */
function BusiestClients({ publishers }: { readonly publishers: ReadonlyMap<string, number> }): JSX.Element {
  let sum = 0
  for (const count of publishers.values()) sum += count
  const rows = [...publishers]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, maxBusiest)
    .map(([clientid, count]) => ({ clientid, count, share: (100 * count) / sum }))
  return (
    <DataTable
      caption={t('busiestClients')}
      rows={rows}
      rowKey={({ clientid }) => clientid}
      empty={t('noClients')}
      columns={[
        createClientColumn(),
        { key: 'count', title: t('count'), value: ({ count }) => count, isNumber: true },
        {
          key: 'share',
          title: t('share'),
          value: ({ share }) => share,
          render: ({ share }) => `${formatNumber(share, 1)} %`,
          isNumber: true,
        },
      ]}
    />
  )
}

function PublishForm({ topic: preset }: { readonly topic: string }): JSX.Element {
  const [topic, setTopic] = useState(preset)
  const [payload, setPayload] = useState('')
  const [qos, setQos] = useState<'0' | '1' | '2'>('0')
  const [isRetained, setRetained] = useState(false)
  const publish = async (event: Event): Promise<void> => {
    event.preventDefault()
    const result = await api.mqtt_publish({ body: { topic, payload, qos: Number(qos), retain: isRetained } })
    showResult(`${t('publish')} ${topic}`, result)
  }
  const clear = (): void =>
    confirmBefore({
      title: t('clearRetainedTitle', { topic: escapeHiddenLetters(topic) }),
      text: t('deleteRetainedText'),
      act: t('clearRetained'),
      run: async () => {
        showResult(t('clearRetainedTitle', { topic }), await api.delete_retained({ params: { topic } }))
        return true
      },
    })
  return (
    <section class="panel" aria-label={t('publish')}>
      <h2>{t('publish')}</h2>
      <form onSubmit={(event) => void publish(event)}>
        <div class="toolbar">
          <TextField label={t('topic')} value={topic} onInput={setTopic} isRequired={true} />
          <Select label={t('qos')} value={qos} options={qosOptions} onChange={setQos} />
          <Checkbox label={t('retain')} isChecked={isRetained} onChange={setRetained} />
        </div>
        <TextArea label={t('payload')} value={payload} onInput={setPayload} rows={3} />
        <div class="dialog-buttons">
          <button type="button" class="danger" disabled={topic === ''} onClick={clear}>
            {t('clearRetained')}
          </button>
          <button type="submit" class="primary">
            {t('publish')}
          </button>
        </div>
      </form>
    </section>
  )
}
