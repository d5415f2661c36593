// Actions that the user must confirm: a dialog describes the action, and its own button starts it.

import type { ComponentChildren } from 'preact'
import { signal } from '@preact/signals'

export interface Confirmation {
  /** Title and accessible name of the dialog. Starts with the verb of the action. */
  readonly title: string
  /** Describes the effects of the action. */
  readonly text: ComponentChildren
  /** Label of the button that starts the action. */
  readonly act: string
  /** Text that the user must type to enable that button. */
  readonly typed?: string
  /** Runs the action. The dialog closes if this resolves with true. */
  readonly run: () => Promise<boolean>
}

/** The action of the open dialog; undefined: no dialog is open. */
export const pendingConfirmation = signal<Confirmation | undefined>(undefined)

/** Opens the dialog for an action. */
export function confirmBefore(confirmation: Confirmation): void {
  pendingConfirmation.value = confirmation
}
