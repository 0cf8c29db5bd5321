/** Provides the display mode of messages on a page: as source (`isSource`), and with all reasoning expanded. */
import { createContext } from "react"

export interface ReadingMode {
  readonly isSource: boolean
  readonly unfolds: boolean
}

export const Reading = createContext<ReadingMode>({ isSource: false, unfolds: false })
