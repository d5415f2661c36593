import type { JSX } from 'preact'
import { Facts, FailureNotice, Page } from '../parts/page.tsx'
import { Name } from '../parts/values.tsx'
import { api, baseUrl, isAllowed } from '../state/api.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'

export default function About(): JSX.Element {
  const broker = useQuery('about', (options) => api.list_brokers({}, options), listMs)
  const about = broker.reply?.data[0]
  return (
    <Page title={t('about')}>
      <FailureNotice failure={broker.failure} onRetry={broker.reload} />
      {about !== undefined && (
        <Facts
          facts={[
            [t('broker'), <Name key="name" text={about.sysdescr} />],
            [t('version'), about.version],
            [t('uptime'), about.uptime],
            [t('timeOfBroker'), about.datetime],
            [t('state'), about.node_status],
          ]}
        />
      )}
      {isAllowed('list_nodes') && <Profile />}
      <p>
        <a href={`${baseUrl}/api/docs`}>{t('apiReference')}</a>
      </p>
      <h2>{t('licences')}</h2>
      <p>{t('licenceText')}</p>
      <ul>
        <li>Preact, @preact/signals: MIT</li>
        <li>uPlot: MIT</li>
      </ul>
    </Page>
  )
}

function Profile(): JSX.Element | null {
  const nodes = useQuery('nodes', (options) => api.list_nodes({}, options))
  const profiles = nodes.reply?.data.map(({ node, security_profile: profile }) => [node, profile] as const)
  return profiles === undefined ? null : (
    <Facts facts={profiles.map(([node, profile]) => [`${t('securityProfile')} (${node})`, profile])} />
  )
}
