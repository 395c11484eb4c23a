/**
 * Puts the table into the comment of an earlier run, which a marker identifies, or into a new one. With a token that
 * may not comment, such as that of a fork's pull request, the job summary has to do.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { annotate, event, step } from "./runner.mjs";

const { GITHUB_API_URL, GITHUB_REPOSITORY, TOKEN } = process.env;
const N_ATTEMPTS = 3;
/** 100 comments each. */
const MAX_PAGES = 100;
const IS_REFUSED = new Set([401, 403, 404]);

async function request(method, address, body) {
  const headers = { accept: "application/vnd.github+json", authorization: `Bearer ${TOKEN}`, "x-github-api-version": "2022-11-28", "user-agent": "litecast" };
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(`${GITHUB_API_URL}${address}`, { method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout(30_000) });
    if (response.status < 500 || attempt === N_ATTEMPTS) return { status: response.status, body: response.status === 204 ? null : await response.json().catch(() => null) };
    await new Promise((resolve) => setTimeout(resolve, 500 * attempt));
  }
}

/** One comment for each workflow, job and title: two uses of this action do not overwrite each other. */
function marker() {
  const parts = [process.env.GITHUB_WORKFLOW, process.env.GITHUB_JOB, process.env.TITLE].map((part) => part ?? "");
  return `<!-- litecast ${createHash("sha256").update(parts.join("\0")).digest("hex").slice(0, 16)} -->`;
}

/** Whether a comment was written with this token: anybody can write a comment that begins with a marker. */
async function isOwn() {
  const { status, body } = await request("GET", "/user");
  // The tokens of apps, such as that of a workflow, have no user.
  return status === 200 ? ({ user }) => user?.login === body.login : ({ user }) => user?.type === "Bot";
}

async function earlier(comments, mark) {
  const is_own = await isOwn();
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const { status, body } = await request("GET", `${comments}?per_page=100&page=${page}`);
    if (status !== 200) return { status, message: body?.message };
    const comment = body.find((one) => one.body?.startsWith(mark) && is_own(one));
    if (comment) return { status, comment };
    if (body.length < 100) break;
  }
  return { status: 200 };
}

await step(async () => {
  const number = event().pull_request?.number;
  if (!Number.isInteger(number)) return 0;
  const mark = marker();
  const body = `${mark}\n${readFileSync(process.env.COMMENT, "utf8")}`;
  const comments = `/repos/${GITHUB_REPOSITORY}/issues/${number}/comments`;
  const found = await earlier(comments, mark);
  let answer = found.status === 200 ? undefined : found;
  if (found.comment) {
    answer = await request("PATCH", `/repos/${GITHUB_REPOSITORY}/issues/comments/${found.comment.id}`, { body });
    if (answer.status === 404) answer = await request("POST", comments, { body });
  } else if (!answer) {
    // A change that touches no model needs no comment, only the end of an earlier one.
    if (process.env.CHANGED !== "true") return 0;
    answer = await request("POST", comments, { body });
  }
  if (answer.status === 200 || answer.status === 201) return 0;
  const message = answer.message ?? answer.body?.message ?? "";
  if (IS_REFUSED.has(answer.status)) {
    annotate("notice", `the token may not comment (${answer.status} ${message}): the table is in the job summary`);
    return 0;
  }
  annotate("error", `GitHub answered ${answer.status} ${message} to the comment; the table is in the job summary`);
  return 1;
});
