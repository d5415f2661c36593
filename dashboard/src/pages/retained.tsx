import type { JSX } from 'preact'
import { Search, Toolbar } from '../parts/fields.tsx'
import { FailureNotice, Page } from '../parts/page.tsx'
import { rowsPerPage } from '../parts/pager.tsx'
import { DataTable, maxExportRows } from '../parts/table.tsx'
import { LocalTime } from '../parts/values.tsx'
import { api, may } from '../state/api.ts'
import { formatBytes, visible } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { askBefore } from '../state/questions.ts'
import { tellResult } from '../state/results.ts'
import { queryValue } from '../state/router.ts'

export default function Retained(): JSX.Element {
  const search = queryValue('search')
  const filter = search === '' ? {} : { topic: search }
  const query = { ...filter, limit: rowsPerPage() }
  const key = JSON.stringify([query, queryValue('namespace')])
  const found = useQuery(key, (options) => api.list_retained({ query }, options), listMs)
  const all = async (): Promise<readonly NonNullable<typeof found.reply>['data'][number][]> => {
    const result = await api.list_retained({ query: { ...filter, limit: maxExportRows } })
    return 'reply' in result ? result.reply.data : []
  }
  const clear = (topic: string): void =>
    askBefore({
      title: t('deleteTitle', { name: visible(topic) }),
      text: t('deleteRetainedText'),
      act: t('delete'),
      run: async () => {
        // [MQTT5-3.3.1-6] An empty retained message takes the one of its topic away.
        const result = await api.mqtt_publish({ body: { topic, payload: '', retain: true, qos: 1 } })
        tellResult(t('deleteTitle', { name: topic }), result)
        found.reload()
        return true
      },
    })
  return (
    <Page title={t('retained')} isLive={true}>
      <Toolbar>
        <Search label={t('searchRetained')} hint={t('searchRetainedHint')} />
      </Toolbar>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('retained')}
        rows={found.reply?.data}
        rowKey={({ topic }) => topic}
        isLoading={found.isLoading}
        empty={t('noRetained')}
        all={all}
        columns={[
          { key: 'topic', title: t('topic'), value: ({ topic }) => topic },
          { key: 'qos', title: t('qos'), value: ({ qos }) => qos, isNumber: true },
          {
            key: 'payload_bytes',
            title: t('size'),
            value: (row) => row.payload_bytes,
            render: (row) => formatBytes(row.payload_bytes),
            isNumber: true,
          },
          { key: 'from_clientid', title: t('publisher'), value: (row) => row.from_clientid },
          {
            key: 'publish_at',
            title: t('publishedAt'),
            value: (row) => row.publish_at,
            render: (row) => <LocalTime text={row.publish_at} />,
          },
          {
            key: 'expires_at',
            title: t('expiresAt'),
            value: (row) => row.expires_at,
            render: (row) => <LocalTime text={row.expires_at} />,
          },
        ]}
        actions={
          may('mqtt_publish') ? [{ word: t('delete'), isDangerous: true, run: ({ topic }) => clear(topic) }] : []
        }
      />
      {found.reply?.meta.hasnext === true && <p class="empty">{t('moreRetained')}</p>}
    </Page>
  )
}
