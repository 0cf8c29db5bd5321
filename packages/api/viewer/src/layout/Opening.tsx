/** Waits for the source: a saved page must be unpacked first. */
import { type ReactNode, useEffect, useState } from "react"
import { type Source, SourceError } from "../source/Source.ts"
import { Failure, Loading } from "../ui/Note.tsx"

export const Opening = ({
  children,
  source
}: {
  readonly source: Promise<Source>
  readonly children: (source: Source) => ReactNode
}) => {
  const [opened, setOpened] = useState<Source | SourceError | null>(null)
  useEffect(() => {
    source.then(setOpened, (cause: unknown) =>
      setOpened(cause instanceof SourceError ? cause : new SourceError("failed", String(cause)))
    )
  }, [source])
  if (opened === null) return <Loading what="rollouts" />
  return opened instanceof SourceError ? (
    <main>
      <Failure error={opened} />
    </main>
  ) : (
    children(opened)
  )
}
