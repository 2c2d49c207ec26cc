import { useMutation, useQuery } from '@tanstack/react-query';
import { useBlocker } from '@tanstack/react-router';
import { type ReactNode, useId, useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field, Select } from '../../components/field.tsx';
import { ProblemNote, problemOf } from '../../components/problem.tsx';
import { toast } from '../../components/toast.tsx';
import { formatBytes } from '../../format.ts';
import { type Project, projectsQuery, queryClient, toUsedBytes, usageQuery } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';
import {
  bytesOf,
  type Change,
  changeOf,
  type Draft,
  isLimit,
  isSide,
  type Limit,
  rebase,
  toDraft,
  type Unit,
  units,
} from './draft.ts';
import { ImageSettings } from './image-settings.tsx';

interface ProjectFormProps {
  project: Project;
  isOwner: boolean;
  /** Below the form, in the same page. */
  children: ReactNode;
}

/** The settings of a project. A bar names what is not saved, and leaving with that asks. */
export function ProjectForm({ project, isOwner, children }: ProjectFormProps) {
  const [{ base, draft }, setState] = useState(() => ({ base: project, draft: toDraft(project) }));
  if (project.updatedAt > base.updatedAt) setState({ base: project, draft: rebase(draft, base, project) });
  const { data: usage } = useQuery(usageQuery(project.id));
  const formId = useId();
  const change = changeOf(base, draft);
  const isChanged = Object.keys(change).length > 0;
  const isWhole =
    [draft.quota, draft.largest].every((limit) => isLimit(bytesOf(limit))) &&
    draft.presets.every(({ w, h }) => isSide(w) && isSide(h)) &&
    new Set(draft.presets.map(({ name }) => name)).size === draft.presets.length;
  const save = useMutation({
    mutationFn: () => call('updateProject', { projectId: project.id, ...change }),
    onSuccess: async (saved) => {
      setState({ base: saved, draft: toDraft(saved) });
      toast(later.settings.saved);
      await queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey });
      await queryClient.invalidateQueries({ queryKey: usageQuery(project.id).queryKey });
    },
  });
  const set = (part: Partial<Draft>) => {
    save.reset();
    setState({ base, draft: { ...draft, ...part } });
  };
  const { settings } = later;
  return (
    <>
      <Page title={text.nav.settings}>
        <div className="sets">
          <form
            id={formId}
            onSubmit={(event) => {
              event.preventDefault();
              save.mutate();
            }}
          >
            <fieldset disabled={!isOwner || save.isPending}>
              <section className="set">
                <div>
                  <h2>{settings.project}</h2>
                  <p>{settings.projectLead}</p>
                </div>
                <div className="fields">
                  <Field
                    label={settings.name}
                    value={draft.name}
                    maxLength={200}
                    required
                    onChange={({ target }) => set({ name: target.value })}
                    problem={problemOf(save.error, 'name')}
                  />
                  <Field
                    label={settings.id}
                    value={project.id}
                    readOnly
                    className="mono"
                    after={<CopyButton value={project.id} label={settings.copyId} />}
                  />
                </div>
              </section>
              <section className="set">
                <div>
                  <h2>{settings.limits}</h2>
                  <p>{settings.limitsLead}</p>
                </div>
                <div className="fields">
                  <LimitField
                    label={settings.quota}
                    limit={draft.quota}
                    hint={usage && settings.used(formatBytes(toUsedBytes(usage)))}
                    problem={problemOf(save.error, 'quotaBytes')}
                    onChange={(quota) => set({ quota })}
                  />
                  <LimitField
                    label={settings.largest}
                    limit={draft.largest}
                    hint={settings.largestHint}
                    problem={problemOf(save.error, 'maxFileSizeBytes')}
                    onChange={(largest) => set({ largest })}
                  />
                  <TypesField value={draft.types} onChange={(types) => set({ types })} />
                  <Select
                    label={settings.mismatch}
                    value={draft.mismatch}
                    options={[
                      { value: 'report', label: settings.report },
                      { value: 'refuse', label: settings.refuse },
                    ]}
                    onChange={(mismatch) => set({ mismatch })}
                    hint={draft.mismatch === 'report' ? settings.reportHint : settings.refuseHint}
                  />
                </div>
              </section>
              <ImageSettings draft={draft} error={save.error} onChange={set} />
            </fieldset>
          </form>
          <ProblemNote error={save.error} />
          {children}
        </div>
      </Page>
      {isChanged && (
        <div className="savebar">
          <i className="dot live" />
          <span className="grow clip" role="status">
            {settings.unsaved} <span className="quiet">{changeWords(change).join(' · ')}</span>
          </span>
          <Button onClick={() => set(toDraft(base))}>{settings.discard}</Button>
          <Button look="main" type="submit" form={formId} busy={save.isPending} disabled={!isWhole}>
            {text.common.save}
          </Button>
        </div>
      )}
      <LeaveQuestion isChanged={isChanged && !save.isPending} />
    </>
  );
}

/** What a change changes, and to what, in words. */
function changeWords(change: Change): string[] {
  const { settings } = later;
  const size = (bytes: number | null) =>
    bytes === null ? settings.noLimit : isLimit(bytes) ? formatBytes(bytes) : settings.noNumber;
  return [
    change.name !== undefined && `${settings.name}: ${change.name}`,
    change.quotaBytes !== undefined && `${settings.quota}: ${size(change.quotaBytes)}`,
    change.maxFileSizeBytes !== undefined && `${settings.largest}: ${size(change.maxFileSizeBytes)}`,
    change.allowedMimeTypes !== undefined &&
      `${settings.types}: ${change.allowedMimeTypes?.join(', ') ?? settings.everyType}`,
    change.contentMismatch !== undefined &&
      `${settings.mismatchShort}: ${change.contentMismatch === 'report' ? settings.report : settings.refuse}`,
    change.imagePresets !== undefined &&
      `${settings.images}: ${Object.keys(change.imagePresets).join(', ') || settings.noPresets}`,
    change.stripLocation !== undefined && `${settings.stripLocation}: ${settings.strip[change.stripLocation]}`,
  ].filter((words) => words !== false);
}

interface LimitFieldProps {
  label: string;
  limit: Limit;
  hint?: string | undefined;
  problem?: string | undefined;
  onChange: (limit: Limit) => void;
}

/** An amount and its unit. */
function LimitField({ label, limit, hint, problem, onChange }: LimitFieldProps) {
  const isNumber = isLimit(bytesOf(limit));
  return (
    <Field
      label={label}
      value={limit.amount}
      inputMode="decimal"
      placeholder={later.settings.noLimit}
      onChange={({ target }) => onChange({ ...limit, amount: target.value })}
      hint={hint}
      problem={isNumber ? problem : later.settings.noNumber}
      after={
        <select
          className="unit"
          aria-label={later.settings.unitOf(label)}
          value={limit.unit}
          onChange={({ target }) => onChange({ ...limit, unit: target.value as Unit })}
        >
          {units.map((unit) => (
            <option key={unit}>{unit}</option>
          ))}
        </select>
      }
    />
  );
}

function TypesField({ value, onChange }: { value: string; onChange: (types: string) => void }) {
  const id = useId();
  const { settings } = later;
  return (
    <div className="field">
      <label htmlFor={id}>{settings.types}</label>
      <textarea
        id={id}
        className="input lines mono"
        rows={4}
        spellCheck={false}
        aria-describedby={`${id}-hint`}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
      <span className="hint" id={`${id}-hint`}>
        {settings.typesHint}
      </span>
    </div>
  );
}

/** Asks before something that is not saved is lost. */
function LeaveQuestion({ isChanged }: { isChanged: boolean }) {
  const { settings } = later;
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isChanged && current.pathname !== next.pathname,
    enableBeforeUnload: isChanged,
    withResolver: true,
  });
  if (blocker.status !== 'blocked') return null;
  return (
    <Dialog
      open
      onClose={blocker.reset}
      title={settings.leaveTitle}
      lead={settings.leaveLead}
      footer={
        <>
          <Button onClick={blocker.reset}>{settings.stay}</Button>
          <Button look="danger" onClick={blocker.proceed}>
            {settings.leave}
          </Button>
        </>
      }
    />
  );
}
