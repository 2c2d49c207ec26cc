import { expectTypeOf, test } from 'vitest';
import type { ClashingOperation, Input } from './routes.ts';

test('no name stands in two of the params, query and body of an operation, since an operation gets them as one object', () => {
  expectTypeOf<ClashingOperation>().toBeNever();
});

test('an operation gets its params, query and body as one object', () => {
  expectTypeOf<Input<'changeFile'>>().toExtend<{ id: string; fileName?: string | undefined }>();
  expectTypeOf<Input<'deleteFolder'>>().toExtend<{ id: string; recursive?: 'true' | 'false' | undefined }>();
});
