DELETE FROM runs WHERE restorable_until <= now()
