import type { JSX } from 'preact'
import { Page } from '../parts/page.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { t } from '../state/messages.ts'
import { Services } from './services.tsx'
import { Sources } from './sources.tsx'
import { SqlRules } from './sql-rules.tsx'

export default function RulesAndIntegrations(): JSX.Element {
  return (
    <Page title={t('rulesAndIntegrations')} isLive={true}>
      <Tabs
        label={t('rulesAndIntegrations')}
        tabs={[
          { key: 'rules', title: t('rules'), render: () => <SqlRules /> },
          { key: 'services', title: t('connectionsToServices'), render: () => <Services /> },
          { key: 'sources', title: t('sources'), render: () => <Sources /> },
        ]}
      />
    </Page>
  )
}
