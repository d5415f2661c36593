// The syntax tree of a regular expression.

/** Decides about one code point. */
export type CharacterTest = (code: number) => boolean

export type Anchor = 'text-start' | 'text-end' | 'last-line-end' | 'line-start' | 'line-end' | 'word' | 'no-word'

export type RegexNode =
  | { readonly kind: 'character'; readonly test: CharacterTest }
  | { readonly kind: 'anchor'; readonly anchor: Anchor }
  | { readonly kind: 'group'; readonly index: number; readonly inner: RegexNode }
  | { readonly kind: 'sequence'; readonly parts: readonly RegexNode[] }
  | { readonly kind: 'choice'; readonly options: readonly RegexNode[] }
  | {
      readonly kind: 'repeat'
      readonly inner: RegexNode
      readonly min: number
      /** Infinity without upper bound. */
      readonly max: number
      readonly isLazy: boolean
    }
