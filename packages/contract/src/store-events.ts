import { z } from 'zod';

/** An object of which an object store says that something has happened to it. */
const StoreEvent = z.looseObject({
  eventName: z.string().optional().meta({ description: 'Such as `ObjectCreated:Put`; others are ignored.' }),
  s3: z
    .looseObject({
      bucket: z.looseObject({ name: z.string() }).optional().meta({ description: 'The bucket.' }),
      object: z
        .looseObject({ key: z.string().meta({ description: 'As it is, or encoded as in a query.' }) })
        .meta({ description: 'The object.' }),
    })
    .meta({ description: 'What it happened to.' }),
});

/** What S3, MinIO and Ceph RGW send. S3 sends a test message without records first. */
export const StoreEventsRequest = z.looseObject({
  Records: z
    .array(StoreEvent)
    .max(1000, { error: 'must have at most 1000 entries' })
    .default([])
    .meta({ description: 'Events as S3 describes them.' }),
});

export const StoreEventsAnswer = z.object({
  noted: z.int().meta({ description: 'How many of them are about uploads that the service may have to record.' }),
});
