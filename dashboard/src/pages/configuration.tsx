import type { JSX } from 'preact'
import { Page } from '../parts/page.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { t } from '../state/messages.ts'
import { ConfigurationHistory } from './configuration-history.tsx'
import { ConfigurationSettings } from './configuration-settings.tsx'
import { ConfigurationText } from './configuration-text.tsx'

export default function Configuration(): JSX.Element {
  return (
    <Page title={t('configuration')}>
      <Tabs
        label={t('configuration')}
        tabs={[
          { key: 'settings', title: t('settings'), render: () => <ConfigurationSettings /> },
          { key: 'text', title: t('text'), render: () => <ConfigurationText /> },
          { key: 'history', title: t('history'), render: () => <ConfigurationHistory /> },
        ]}
      />
    </Page>
  )
}
