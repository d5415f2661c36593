// Limits of archives of plugins and of what is in them.

export const pluginLimits = {
  /** Files and folders in one archive. */
  maxMembers: 10_000,
  /** All files together, unpacked. */
  maxBytes: 104_857_600,
  /** Zeros after the last member. */
  maxPaddingBytes: 1_048_576,
  /** A package.json, of the plugin or of a package in it. */
  maxPackageBytes: 1_048_576,
  /** UTF-8 bytes of a path within the package. */
  maxPathBytes: 1_024,
  /** UTF-8 bytes of one level of a path: the limit of file systems. */
  maxLevelBytes: 255,
  /** Characters of the description and of the author. */
  maxTextLength: 1_024,
  /** Filters of one kind, permissions, bundled packages. */
  maxEntries: 256,
} as const
