// May that client do that, by which rule, and what stands in the way.

import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Select, TextField } from '../parts/fields.tsx'
import { Facts, FailureNotice } from '../parts/page.tsx'
import { DataTable } from '../parts/table.tsx'
import { Name } from '../parts/values.tsx'
import { api, type Failure } from '../state/api.ts'
import { t } from '../state/messages.ts'

type Explanation = Extract<Awaited<ReturnType<typeof api.explain>>, { reply: unknown }>['reply']['data']
type Action = 'publish' | 'subscribe'

interface ExplainProps {
  /** undefined: the form has a field for it, and one for the user name. */
  readonly clientId?: string
  readonly topic?: string
}

export function Explain({ clientId, topic: presetTopic = '' }: ExplainProps): JSX.Element {
  const [enteredId, setEnteredId] = useState('')
  const [username, setUsername] = useState('')
  const [action, setAction] = useState<Action>('publish')
  const [topic, setTopic] = useState(presetTopic)
  const [found, setFound] = useState<{ readonly it?: Explanation; readonly failure?: Failure }>({})
  const explain = async (event?: Event): Promise<void> => {
    event?.preventDefault()
    const clientid = clientId ?? enteredId
    const assumed = username === '' ? {} : { username }
    const result = await api.explain({ query: { clientid, action, topic, ...assumed } })
    setFound('reply' in result ? { it: result.reply.data } : { failure: result.failure })
  }
  // A link that names client and topic needs no input: the request is sent at once.
  useEffect(() => {
    if (clientId !== undefined && presetTopic !== '') void explain()
  }, [])
  return (
    <>
      <form class="toolbar" onSubmit={(event) => void explain(event)}>
        {clientId === undefined && (
          <>
            <TextField label={t('clientIdentifier')} value={enteredId} onInput={setEnteredId} isRequired={true} />
            <TextField label={t('userName')} value={username} onInput={setUsername} />
          </>
        )}
        <Select
          label={t('action')}
          value={action}
          options={[
            ['publish', t('publish')],
            ['subscribe', t('subscribe')],
          ]}
          onChange={setAction}
        />
        <TextField label={t('topic')} value={topic} onInput={setTopic} isRequired={true} />
        <button type="submit" class="primary">
          {t('explain')}
        </button>
      </form>
      <FailureNotice failure={found.failure} onRetry={() => void explain()} />
      {found.it !== undefined && <ExplanationPanel found={found.it} />}
    </>
  )
}

function ExplanationPanel({ found }: { readonly found: Explanation }): JSX.Element {
  const { decision, client, obstacle, quotas, subscriptions, topic_here: topicHere } = found
  const words = { allow: t('allowed'), deny: t('denied'), unknown: t('unknownDecision') } as const
  return (
    <section class="panel" aria-label={t('explanation')}>
      <h2>{words[decision.result]}</h2>
      <Facts
        facts={[
          [t('result'), decision.result],
          [t('decidedBy'), decision.because],
          [t('rule'), decision.rule === null ? t('none') : <Name text={decision.rule} />],
          [t('place'), decision.place === null ? t('none') : <Name text={decision.place} />],
          [t('obstacle'), obstacle === null ? t('none') : <Name text={obstacle} />],
          [t('topicInBroker'), <Name key="topic" text={topicHere} />],
          [t('state'), t(client.connected ? 'connected' : 'disconnected')],
          [t('authenticatedBy'), client.authenticated_by ?? t('none')],
          ...Object.entries(quotas).map(([name, { used, limit }]) => [name, t('usedOf', { used, limit })] as const),
        ]}
      />
      {found.action === 'publish' && (
        <DataTable
          caption={t('receivers')}
          rows={subscriptions}
          rowKey={({ clientid, topic }) => `${clientid} ${topic}`}
          empty={t('noReceivers')}
          columns={[
            { key: 'clientid', title: t('clientId'), value: ({ clientid }) => clientid, canCopy: true },
            { key: 'topic', title: t('topicFilter'), value: ({ topic }) => topic, canCopy: true },
            { key: 'qos', title: t('qos'), value: ({ qos }) => qos, isNumber: true },
            { key: 'outcome', title: t('outcome'), value: ({ outcome }) => outcome },
          ]}
        />
      )}
    </section>
  )
}
