/** The base of a relative path. */
export type PathBase = 'configuration-folder' | 'working-directory' | 'data-directory'

/** A path in the value of a setting. */
export interface NamedPath {
  readonly path: string
  readonly base: PathBase
  /** The broker creates files there. Otherwise it only reads. */
  readonly isWritten: boolean
}
