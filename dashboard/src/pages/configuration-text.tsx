// The whole configuration as text. What is sent takes the place of what there is.

import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { TextArea } from '../parts/fields.tsx'
import { FailureNotice } from '../parts/page.tsx'
import { api, type Failure, isAllowed } from '../state/api.ts'
import { t } from '../state/messages.ts'
import { useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showDone } from '../state/results.ts'
import { type Change, ChangeList, type Outcome, OutcomeView } from './configuration-changes.tsx'

const editorRows = 24

export function ConfigurationText(): JSX.Element {
  const [text, setText] = useState<string>()
  const [failure, setFailure] = useState<Failure>()
  const [preview, setPreview] = useState<readonly Change[]>()
  const [outcome, setOutcome] = useState<Outcome>()
  const found = useQuery('configuration text', async (options) => {
    const history = await api.list_configuration_history({}, options)
    if ('failure' in history) return history
    const [newest] = history.reply.data
    if (newest === undefined) return { reply: '' }
    const version = await api.get_configuration_version({ params: { number: String(newest.number) } }, options)
    return 'failure' in version ? version : { reply: version.reply.data.text }
  })
  // Text that the user typed before the response arrived is not replaced.
  useEffect(() => setText((typed) => typed ?? found.reply), [found.reply])
  const apply = async (): Promise<void> => {
    const result = await api.update_config({ body: text ?? '' })
    setFailure('failure' in result ? result.failure : undefined)
    if ('failure' in result) return
    setOutcome(result.reply.data)
    setPreview(undefined)
    showDone(t('applyConfiguration'))
  }
  const check = async (): Promise<void> => {
    const result = await api.check_configuration({ body: text ?? '' })
    setFailure('failure' in result ? result.failure : undefined)
    setPreview('reply' in result ? result.reply.data.changes : undefined)
  }
  const confirmApply = (): void =>
    confirmBefore({
      title: t('applyConfiguration'),
      text: t('applyConfigurationText'),
      act: t('apply'),
      run: async () => {
        await apply()
        return true
      },
    })
  return (
    <>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <p>{t('configurationTextHint')}</p>
      <TextArea
        label="HOCON"
        value={text ?? ''}
        onInput={setText}
        rows={editorRows}
        isReadOnly={!isAllowed('update_config')}
      />
      {isAllowed('update_config') && (
        <div class="dialog-buttons">
          <button type="button" disabled={text === undefined} onClick={() => void check()}>
            {t('check')}
          </button>
          <button type="button" class="danger" disabled={text === undefined} onClick={confirmApply}>
            {t('apply')}
          </button>
        </div>
      )}
      <FailureNotice failure={failure} onRetry={confirmApply} />
      {preview !== undefined && (
        <section class="panel" aria-label={t('willChange')}>
          <h2>{t('willChange')}</h2>
          <ChangeList changes={preview} />
        </section>
      )}
      {outcome !== undefined && <OutcomeView outcome={outcome} />}
    </>
  )
}
