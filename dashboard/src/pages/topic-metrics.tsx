// Topics whose messages are counted.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/dialogs.tsx'
import { TextField } from '../parts/fields.tsx'
import { FailureNotice, Page } from '../parts/page.tsx'
import { type Column, DataTable, type RowAction } from '../parts/table.tsx'
import { Time } from '../parts/values.tsx'
import { api, isAllowed, formatFailure } from '../state/api.ts'
import { formatNumber, escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showDone, showResult } from '../state/results.ts'

type Row = Extract<Awaited<ReturnType<typeof api.get_topic_metrics>>, { reply: unknown }>['reply'][number]

export default function TopicMetrics(): JSX.Element {
  const [isAdding, setAdding] = useState(false)
  const found = useQuery('topic metrics', (options) => api.get_topic_metrics({}, options), listMs)
  const canChange = isAllowed('add_topic_metrics')
  return (
    <Page
      title={t('topicMetrics')}
      isLive={true}
      actions={
        canChange && (
          <button type="button" onClick={() => setAdding(true)}>
            {t('addTopic')}
          </button>
        )
      }
    >
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('topicMetrics')}
        rows={found.reply}
        rowKey={({ topic }) => topic}
        query={found}
        empty={t('noTopicMetrics')}
        columns={createMetricColumns()}
        actions={canChange ? createMetricActions(found.reload) : []}
      />
      {isAdding && <TopicDialog onClose={() => setAdding(false)} onDone={found.reload} />}
    </Page>
  )
}

function createMetricColumns(): readonly Column<Row>[] {
  const createNumberColumn = (key: keyof Row['metrics'], title: string, digits = 0): Column<Row> => ({
    key,
    title,
    value: ({ metrics }) => metrics[key],
    render: ({ metrics }) => formatNumber(metrics[key], digits),
    isNumber: true,
  })
  return [
    { key: 'topic', title: t('topic'), value: ({ topic }) => topic, canCopy: true },
    createNumberColumn('messages.in.count', t('messagesIn')),
    createNumberColumn('messages.in.rate', t('inPerSecond'), 1),
    createNumberColumn('messages.out.count', t('messagesOut')),
    createNumberColumn('messages.out.rate', t('outPerSecond'), 1),
    createNumberColumn('messages.dropped.count', t('dropped')),
    {
      key: 'since',
      title: t('since'),
      value: (row) => row.reset_time ?? row.create_time,
      render: (row) => <Time ms={Date.parse(row.reset_time ?? row.create_time)} />,
    },
  ]
}

function createMetricActions(onDone: () => void): readonly RowAction<Row>[] {
  const reset = async ({ topic }: Row): Promise<void> => {
    showResult(`${t('reset')} ${topic}`, await api.reset_topic_metrics({ body: { action: 'reset', topic } }))
    onDone()
  }
  const remove = ({ topic }: Row): void =>
    confirmBefore({
      title: t('deleteTitle', { name: escapeHiddenLetters(topic) }),
      text: t('deleteTopicMetricsText'),
      act: t('delete'),
      run: async () => {
        showResult(t('deleteTitle', { name: topic }), await api.delete_topic_metrics({ params: { topic } }))
        onDone()
        return true
      },
    })
  return [
    { word: t('reset'), run: (row) => void reset(row) },
    { word: t('delete'), isDangerous: true, run: remove },
  ]
}

interface DialogProps {
  readonly onClose: () => void
  readonly onDone: () => void
}

function TopicDialog({ onClose, onDone }: DialogProps): JSX.Element {
  const [topic, setTopic] = useState('')
  const save = async (): Promise<string | undefined> => {
    const result = await api.add_topic_metrics({ body: { topic } })
    if ('failure' in result) return formatFailure(result.failure)
    showDone(`${t('addTopic')}: ${topic}`)
    onDone()
    return undefined
  }
  return (
    <FormDialog title={t('addTopic')} onClose={onClose} onSave={save}>
      <TextField label={t('topic')} value={topic} onInput={setTopic} isRequired={true} hint={t('withoutWildcards')} />
    </FormDialog>
  )
}
