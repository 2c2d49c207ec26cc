import { Plus, X } from 'lucide-react';
import { Button, IconButton } from '../../components/button.tsx';
import { Field, Select } from '../../components/field.tsx';
import { problemOf } from '../../components/problem.tsx';
import { formatCount } from '../../format.ts';
import { later } from '../../text/later.ts';
import { type Draft, type DraftPreset, isSide, longestSide } from './draft.ts';
import './settings.css';

/** As the service takes them. */
const mostPresets = 10;
const nameForm = '[a-z0-9][a-z0-9_\\-]{0,31}';

interface ImageSettingsProps {
  draft: Draft;
  /** What was wrong with what was last sent. */
  error: unknown;
  onChange: (part: Partial<Draft>) => void;
}

/** Which pictures are made of each picture, and whether links say where they were taken. */
export function ImageSettings({ draft, error, onChange }: ImageSettingsProps) {
  const { settings } = later;
  const { presets } = draft;
  const setPresets = (presets: readonly DraftPreset[]) => onChange({ presets });
  const add = () => {
    const id = Math.max(-1, ...presets.map((one) => one.id)) + 1;
    setPresets([...presets, { id, name: '', w: '', h: '', options: {} }]);
  };
  return (
    <section className="set">
      <div>
        <h2>{settings.images}</h2>
        <p>{settings.imagesLead}</p>
      </div>
      <div className="fields">
        {presets.length > 0 && (
          <ul className="stack g3">
            {presets.map((preset) => (
              <PresetRow
                key={preset.id}
                preset={preset}
                error={error}
                isTaken={presets.some(({ id, name }) => id < preset.id && name === preset.name)}
                onChange={(part) => setPresets(presets.map((one) => (one === preset ? { ...one, ...part } : one)))}
                onRemove={() => setPresets(presets.filter((one) => one !== preset))}
              />
            ))}
          </ul>
        )}
        <div>
          <Button icon={Plus} disabled={presets.length >= mostPresets} onClick={add}>
            {settings.addPreset}
          </Button>
        </div>
        <Select
          label={settings.stripLocation}
          value={draft.stripLocation}
          options={(['never', 'links'] as const).map((value) => ({ value, label: settings.strip[value] }))}
          onChange={(stripLocation) => onChange({ stripLocation })}
          hint={settings.stripHints[draft.stripLocation]}
        />
      </div>
    </section>
  );
}

interface PresetRowProps {
  preset: DraftPreset;
  error: unknown;
  /** Whether one before it has the same name. */
  isTaken: boolean;
  onChange: (part: Partial<DraftPreset>) => void;
  onRemove: () => void;
}

const fits = ['cover', 'contain', 'inside'] as const;
const formats = ['webp', 'avif', 'jpeg', 'png', 'auto'] as const;

function PresetRow({ preset, error, isTaken, onChange, onRemove }: PresetRowProps) {
  const { settings } = later;
  const { name, w, h, options } = preset;
  const problem = (field: string) => problemOf(error, `imagePresets.${name}${field}`);
  const side = (label: string, value: string, key: 'w' | 'h', isRequired: boolean) => (
    <Field
      label={label}
      value={value}
      inputMode="numeric"
      required={isRequired}
      problem={isSide(value) ? problem(`.${key}`) : settings.noSide(formatCount(longestSide))}
      onChange={({ target }) => onChange({ [key]: target.value })}
    />
  );
  return (
    <li className="preset-row">
      <Field
        label={settings.presetName}
        value={name}
        required
        pattern={nameForm}
        title={settings.presetNameHint}
        autoFocus={name === ''}
        problem={isTaken ? settings.presetTaken : problem('')}
        onChange={({ target }) => onChange({ name: target.value })}
      />
      {side(settings.width, w, 'w', h === '')}
      {side(settings.height, h, 'h', w === '')}
      <Select
        label={settings.fit}
        value={options.fit ?? 'cover'}
        options={fits.map((value) => ({ value, label: settings.fits[value] }))}
        onChange={(fit) => onChange({ options: { ...options, fit } })}
      />
      <Select
        label={settings.format}
        value={options.f ?? 'webp'}
        options={formats.map((value) => ({ value, label: settings.formats[value] }))}
        onChange={(f) => onChange({ options: { ...options, f } })}
      />
      <IconButton icon={X} label={settings.removePreset(name)} onClick={onRemove} />
    </li>
  );
}
