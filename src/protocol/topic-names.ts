// Topic names and topic filters (section 4.7 of both standards), as types that only parsing can make.

/** A topic that a message may be published to: 1 to 65,535 bytes of UTF-8, no wildcards, no U+0000. */
export type TopicName = string & { readonly made: 'topic-name' }

/** A filter that a client may subscribe to, wildcards in their places; with `$share/group/` in front if shared. */
export type TopicFilter = string & { readonly made: 'topic-filter' }
