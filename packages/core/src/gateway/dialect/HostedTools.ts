/**
 * Recognizes tools that a provider runs on its own servers. No server here runs them, and their client does not
 * either, so they are left out of the prompt and counted; a tool that the client runs must never be.
 */

const hosted =
  /^(?:web_search|web_fetch|file_search|code_interpreter|code_execution|image_generation|tool_search|tool_search_tool_(?:bm25|regex)|advisor)(?:_preview)?(?:_\d{8}|_\d{4}_\d{2}_\d{2})?$/

export const isHosted = (type: unknown): type is string => typeof type === "string" && hosted.test(type)
